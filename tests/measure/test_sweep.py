"""The sweep on devices whose time we wind by hand."""

import random

import fakes
import pytest
from fakes import Machine, Watcher

from bench.measure.job import Stopped
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import EFFORTS, Budget
from bench.records.measurement import CONVERGED, NOISY, TIMED_OUT, Failure
from bench.text.tell import tell

QUICK = EFFORTS["quick"]


def constant(seconds):
    return lambda size, now: seconds


def swept(machine, monkeypatch, sizes=(64,), budget=QUICK, gate=None):
    devices = machine.install(monkeypatch)
    watcher = Watcher(devices, gate)
    measure(SweepPlan("fake", sizes, tuple(devices), budget), watcher)
    return watcher


def test_the_time_read_is_the_true_one(monkeypatch):
    machine = Machine({"cpu": lambda n, now: n * 1e-6, "mps": constant(3e-4)}, sync_s=1e-5)
    for m in swept(machine, monkeypatch, (100, 1000)).run.measurements:
        truth = {"cpu": m.case.size * 1e-6, "mps": 3e-4}[m.case.device]
        assert m.status == CONVERGED
        assert m.median_s.value == pytest.approx(truth, rel=0.03)


def test_devices_alternate_over_rounds_and_neither_always_goes_first(monkeypatch):
    machine = Machine({"cpu": constant(1e-3), "mps": constant(1e-3)})
    run = swept(machine, monkeypatch, (64, 65, 66, 67)).run
    assert all(len(m.rounds) >= QUICK.min_rounds for m in run.measurements)
    assert len(machine.visits) > 4 * QUICK.min_rounds
    again = Machine({"cpu": constant(1e-3), "mps": constant(1e-3)})
    swept(again, monkeypatch, (64, 65, 66, 67))
    assert again.visits == machine.visits, "the order comes from the seed"


def test_a_device_that_wakes_slowly_is_woken_before_each_round(monkeypatch):
    """After another device's turn the first block takes ten times as long: it is in no sample."""
    last = {"at": 0.0}

    def sleepy(size, now):
        seconds = 1e-2 if now - last["at"] > 5e-3 else 1e-3
        last["at"] = now + seconds
        return seconds

    machine = Machine({"cpu": constant(1e-3), "mps": sleepy})
    mps = next(m for m in swept(machine, monkeypatch).run.measurements if m.case.device == "mps")
    assert max(mps.samples_s) < 1.1e-3


def test_steady_times_converge_and_scattered_ones_end_noisy_with_the_reason(monkeypatch):
    rng = random.Random(3)
    machine = Machine({"cpu": constant(1e-3), "mps": lambda n, now: 3e-3 * rng.lognormvariate(0, 1)})
    steady, scattered = swept(machine, monkeypatch).run.measurements
    assert (steady.status, steady.reason) == (CONVERGED, None)
    assert scattered.status == NOISY
    assert tell(scattered.reason).startswith("After 12 rounds the interval is ±") and "wanted ±5.0 %" in tell(
        scattered.reason
    )


def test_time_is_up_for_slow_steps(monkeypatch):
    budget = Budget("test", 0.05, 5, 8, 0.04, 0.1, 2e-3, limit_s=20.0)
    m = swept(Machine({"cpu": constant(6.0)}), monkeypatch, budget=budget).run.measurements[0]
    assert m.status == TIMED_OUT
    assert tell(m.reason) == "After 20 s only 4 of the wanted 10 samples."
    assert m.median_s.value == pytest.approx(6.0)


def test_the_first_call_is_kept_apart(monkeypatch):
    first = iter([7.0])
    machine = Machine({"cpu": lambda n, now: next(first, 1e-3)})
    m = swept(machine, monkeypatch).run.measurements[0]
    assert m.first_call_s == pytest.approx(7.0, rel=1e-3)
    assert max(m.samples_s) < 1.1e-3


def test_blocks_during_which_a_page_asked_are_measured_again(monkeypatch):
    class Busy(Watcher("").gate.__class__):
        asked = 0

        def disturbed(self, start, end):
            Busy.asked += 1
            return Busy.asked % 7 == 0

    m = swept(Machine({"cpu": constant(1e-3)}), monkeypatch, gate=Busy()).run.measurements[0]
    assert m.disturbed > 0
    assert sum(m.rounds) == len(m.samples_s) and all(m.rounds)


@pytest.mark.parametrize("error", [RuntimeError, NotImplementedError, TypeError, MemoryError])
def test_what_a_device_cannot_do_is_a_row_and_the_sweep_goes_on(monkeypatch, error):
    def breaks(size, now):
        if size == 65 and now > 0.5:
            raise error("MPS backend out of memory (limit 1 GB).\nlong story")
        return 1e-3

    machine = Machine({"cpu": constant(1e-3), "mps": breaks})
    run = swept(machine, monkeypatch, (64, 65, 66)).run
    statuses = {(o.case.size, o.case.device): o.status for o in run.outcomes}
    assert len(run.outcomes) == 6 and set(statuses) == {(n, d) for n in (64, 65, 66) for d in ("cpu", "mps")}
    assert {key for key, status in statuses.items() if status != CONVERGED} == {(65, "mps")}
    assert tell(run.failures[0].error) == "MPS backend out of memory (limit 1 GB)."
    assert machine.released > 0


def test_a_device_that_fails_for_good_is_left_alone_and_says_so_once(monkeypatch):
    """It breaks at the first size; the CPU goes on, and the device itself is struck off for later runs."""

    def breaks(size, now):
        machine.broken["mps"] = "device-side assert triggered"
        raise RuntimeError("device-side assert triggered")

    machine = Machine({"cpu": constant(1e-3), "mps": breaks})
    watcher = swept(machine, monkeypatch, (64, 65, 66))
    assert [m.case.size for m in watcher.run.measurements] == [64, 65, 66]
    first, *later = (tell(failure.error) for failure in watcher.run.failures)
    assert first == "device-side assert triggered"
    assert len(later) == 2 and set(later) == {
        "Not tried. It stopped working (device-side assert triggered): start the program again to use it."
    }
    assert machine.visits.count("mps") == 1 and list(watcher.lost) == ["mps"]


def test_a_clock_that_goes_backwards_ends_as_a_row(monkeypatch):
    def back(size, now):
        return -1.0 if size == 65 else 1e-3

    run = swept(Machine({"cpu": back}), monkeypatch, (64, 65, 66)).run
    assert [o.status for o in run.outcomes] == [CONVERGED, "failed", CONVERGED]
    assert "clock went backwards" in tell(run.failures[0].error)


def test_what_would_not_fit_is_not_tried(monkeypatch):
    machine = Machine({"cpu": constant(1e-3)})
    devices = machine.install(monkeypatch)
    devices["cpu"].memory_bytes = 1e5
    watcher = Watcher(devices)
    measure(SweepPlan("fake", (64, 1000), ("cpu",), QUICK), watcher)
    fits, too_large = watcher.run.outcomes
    assert fits.status == CONVERGED
    assert isinstance(too_large, Failure) and "needs 4.00 MB" in tell(too_large.error)


def test_a_bug_of_ours_is_not_taken_for_a_failing_device(monkeypatch):
    def bug(size, now):
        raise KeyError("ours")

    with pytest.raises(KeyError):
        swept(Machine({"cpu": bug}), monkeypatch)


def test_stop_ends_within_a_block_and_keeps_finished_sizes(monkeypatch):
    machine = Machine({"cpu": constant(1e-3)})
    devices = machine.install(monkeypatch)
    watcher = Watcher(devices)

    def stop_later(size, now):
        if size == 65 and not watcher.stop.is_set():
            watcher.stop.set()
            stop_later.at = now
        return 1e-3

    machine.speeds["cpu"] = stop_later
    with pytest.raises(Stopped):
        measure(SweepPlan("fake", (64, 65, 66), ("cpu",), QUICK), watcher)
    assert [m.case.size for m in watcher.run.measurements] == [64]
    assert machine.now - stop_later.at < 0.15, "not much more than the warm-up it was in"


def test_progress_rises_and_the_time_left_falls_to_nothing(monkeypatch):
    watcher = swept(Machine({"cpu": constant(1e-3), "mps": constant(2e-3)}), monkeypatch, (64, 65, 66, 67))
    done = [p["done"] for p in watcher.published if "done" in p]
    left = [p["left_s"] for p in watcher.published if "left_s" in p]
    assert done == sorted(done) and done[0] == 0 and 0.7 < done[-1] <= 1
    assert left[-1] < left[0] / 2


@pytest.mark.parametrize("sign", ["others_s", "preempted"])
def test_a_round_that_other_programs_took_part_in_is_measured_again_and_leaves_nothing(monkeypatch, sign):
    """Neither its samples nor its device clock: the second round is the spoilt one here."""

    class Busy(Watcher("").gate.__class__):
        asked = 0

        def others_s(self):
            return self.count() if sign == "others_s" else 0.0

        def preempted(self):
            return self.count() if sign == "preempted" else 0

        def count(self):
            self.asked += 1
            return 50.0 * (self.asked >= 4)  # asked before and after each round

    machine, seen = Machine({"cpu": constant(0.03)}), []
    monkeypatch.setattr(fakes._Fake, "seconds_by_events", lambda self, step, calls: seen.append(1) or 0.03)
    m = swept(machine, monkeypatch, (64,), gate=Busy()).run.measurements[0]
    assert len(seen) == len(m.rounds) + 1 == len(m.events_s) + 1
    assert m.disturbed > 0


def test_a_page_that_asks_during_every_block_of_a_busy_machine_does_not_keep_a_case_for_ever(monkeypatch):
    class Hopeless(Watcher("").gate.__class__):
        busy = 0.0

        def others_s(self):
            Hopeless.busy += 100.0
            return Hopeless.busy

        def disturbed(self, start, end):
            return True

    machine = Machine({"cpu": constant(0.1)})
    m = swept(machine, monkeypatch, gate=Hopeless()).run.measurements[0]
    assert m.samples_s and machine.now < 100
