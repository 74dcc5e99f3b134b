"""Drawing and timing never overlap."""

import itertools
import threading

import psutil
import pytest

from bench.machine import load
from bench.measure import clock
from bench.measure import gate as gate_module
from bench.measure.gate import CALM_LONGEST_S, LEAD_S, Gate, wait_for_calm


@pytest.fixture
def gate():
    return Gate(settle=lambda: None)


def in_thread(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_drawing_waits_for_the_timed_stretch_to_end(gate):
    order, timing_now = [], threading.Event()

    def draw():
        timing_now.wait(5)
        with gate.drawing() as quiet:
            order.append(("drawn", quiet))

    thread = in_thread(draw)
    with gate.timed():
        timing_now.set()
        thread.join(0.2)
        order.append("timed")
    thread.join(5)
    assert order == ["timed", ("drawn", True)]


def test_timing_waits_for_the_drawing_to_end(gate):
    order = []
    with gate.drawing():
        thread = in_thread(lambda: gate.timed().__enter__() or order.append("timed"))
        thread.join(0.2)
        order.append("drawn")
    thread.join(5)
    assert order == ["drawn", "timed"]


def test_after_a_drawing_the_machine_may_calm_down_once():
    calls = []
    gate = Gate(settle=lambda: calls.append(1))
    with gate.timed():
        pass
    assert not calls
    with gate.drawing():
        pass
    for _ in range(2):
        with gate.timed():
            pass
    assert len(calls) == 1


def test_blocks_that_a_request_fell_into_are_disturbed_and_others_not(gate):
    start, asked = clock.now(), threading.Event()

    def draw():
        asked.set()
        with gate.drawing():
            pass

    with gate.timed():
        thread = in_thread(draw)
        asked.wait(5)
        thread.join(0.1)
        end = clock.now()
    thread.join(5)
    assert gate.disturbed(start, end)
    assert not gate.disturbed(start - 10, start - LEAD_S - 1)
    assert not gate.disturbed(end + 10, end + 11)


def test_a_request_between_timed_stretches_disturbs_nothing(gate):
    start = clock.now()
    with gate.drawing():
        pass
    assert not gate.disturbed(start, clock.now())


def test_a_page_does_not_wait_for_ever_and_what_it_drew_over_is_disturbed(gate):
    with gate.timed():
        start = clock.now()
        with gate.drawing(patience=0.05) as quiet:
            assert not quiet
            assert gate.disturbed(start, clock.now())
        end = clock.now()
    assert gate.disturbed(start, end)
    assert not gate.disturbed(end + 1, end + 2)


def test_a_page_in_a_page_does_not_lock_itself_out(gate):
    with gate.drawing() as outer, gate.drawing() as inner:
        assert outer and inner


def test_pages_that_never_stop_drawing_cannot_keep_the_run_from_going_on(monkeypatch):
    """Twenty tabs: one draws at any moment. Timing begins all the same, and knows that it is disturbed."""
    monkeypatch.setattr("bench.measure.gate.LONGEST_WAIT_S", 0.2)
    gate, leave = Gate(settle=lambda: None), threading.Event()

    def keep_drawing():
        with gate.drawing():
            leave.wait(10)

    thread = in_thread(keep_drawing)
    while not gate._drawers:
        thread.join(0.01)
    with gate.timed():
        start = clock.now()
        assert gate.disturbed(start, clock.now() + 1e-3)
        leave.set()
        thread.join(5)
        end = clock.now()
    assert gate.disturbed(start, end)
    assert not gate.disturbed(end + 1, end + 2)


def test_calming_down_again_and_again_ends(monkeypatch):
    """A page draws each time while the machine calms down: the run goes on after LONGEST_WAIT_S."""
    monkeypatch.setattr("bench.measure.gate.LONGEST_WAIT_S", 0.2)
    calmed = []

    def draw_again():
        with gate.drawing():
            calmed.append(threading.Event().wait(0.01))

    gate = Gate(settle=draw_again)
    draw_again()
    began = clock.now()
    with gate.timed():
        assert len(calmed) > 3 and clock.now() - began < 5


@pytest.fixture
def busy(monkeypatch):
    """``busy(seconds)``: CPU seconds that other programs use between two looks; the clock runs as fast as one looks."""
    looks, used = itertools.count(), itertools.count()

    def others_use(seconds):
        monkeypatch.setattr(load, "others_s", lambda me: next(used) * seconds)

    monkeypatch.setattr(gate_module, "CALM_WINDOW_S", 1e-3)
    monkeypatch.setattr(clock, "now", lambda: next(looks) * 0.01)
    return lambda seconds: (others_use(seconds), wait_for_calm(), next(used))[-1]


def test_calm_is_waited_for_until_other_programs_leave_the_cores_alone(busy):
    assert busy(0.0) == 2, "two looks, and nothing between them"


def test_calm_is_not_waited_for_without_end(busy):
    assert 10 < busy(1.0) <= CALM_LONGEST_S / 0.01 + 1


def test_the_load_of_the_machine_only_grows():
    me = psutil.Process()
    before, switches = load.others_s(me), load.preempted()
    assert load.others_s(me) >= before - 0.05 and load.preempted() >= switches >= 0, "times have a resolution of 10 ms"
    assert load.COUNTED_THREADS >= 1
