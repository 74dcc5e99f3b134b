"""Timing on a clock that we wind by hand: exact expectations, no sleeping."""

import pytest
from fakes import Bench

from bench.measure import clock


@pytest.fixture
def wound(monkeypatch):
    """Makes a Bench whose clock is the one that timing reads."""

    def make(**settings):
        bench = Bench(**settings)
        monkeypatch.setattr(clock, "now", bench.clock)
        return bench

    return make


def test_a_block_waits_for_queued_work(wound):
    b = wound(step_s=0.5)
    assert clock.time_block(b.step, b.synchronize, 4).per_step == pytest.approx(0.5)


def test_work_queued_before_the_block_is_not_in_it(wound):
    b = wound(step_s=0.5)
    b.step()
    assert clock.time_block(b.step, b.synchronize, 1).seconds == pytest.approx(0.5)


def test_dispatch_is_the_time_to_queue(wound):
    b = wound(step_s=0.5, launch_s=0.125)
    block = clock.time_block(b.step, b.synchronize, 4)
    assert block.dispatch_per_step == pytest.approx(0.125)
    assert block.per_step == pytest.approx(0.625)


@pytest.mark.parametrize("step_s", [1e-7, 1e-5, 3e-3, 2.0])
def test_steps_are_repeated_until_a_block_is_long_enough_and_no_longer(wound, step_s):
    b = wound(step_s=step_s)
    calls = clock.choose_calls(b.step, b.synchronize, 5e-3)
    assert calls * step_s >= 5e-3
    assert calls == 1 or calls * step_s < 1e-2


def test_a_stopwatch_adds_up_laps_of_one_name(wound):
    b = wound(step_s=1)
    watch = clock.Stopwatch()
    for name, seconds in (("copy", 1), ("forward", 2), ("copy", 4)):
        b.now += seconds
        watch.lap(name)
    assert watch.laps == {"copy": 5, "forward": 2}


def test_warming_up_ends_when_the_device_is_steady(wound):
    """Its clock rises over 0.2 s of work: warm-up goes on as long, and not much longer."""
    b = wound(step_s=1e-3)
    b.step_s = lambda done: 1e-3 * max(1.0, 2.0 - b.now / 0.2)
    clock.warm_up(b.step, b.synchronize, 2, 0.02, longest_s=5)
    assert 0.2 < b.now < 0.3


def test_a_device_that_never_gets_steady_is_not_warmed_up_for_ever(wound):
    b = wound(step_s=lambda done: 1e-3 * (1 + done // 10 % 2))
    clock.warm_up(b.step, b.synchronize, 2, 0.02, longest_s=0.5)
    assert 0.5 <= b.now < 0.6
