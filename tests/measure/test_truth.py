"""The whole instrument against devices whose truth is known: simulated here, emulated in a process of their own."""

import json
from pathlib import Path

import numpy as np
import pytest
from emulator import run_emulated
from fakes import Machine, Watcher

from bench.analysis import fits
from bench.analysis.article_clocks import readings
from bench.analysis.caveats import caveats
from bench.analysis.sweep_verdict import OPEN, judge
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import EFFORTS
from bench.records.case import again
from bench.records.measurement import WRONG
from bench.storage.reading import from_json
from bench.text.tell import tell

ROOT = Path(__file__).parents[2]


def noisy(seconds, within, between, seed):
    """Seconds a step that scatter from step to step, and wander: by another factor every 30 ms."""
    rng = np.random.default_rng(seed)

    def step(size, now):
        factor = np.random.default_rng((seed, int(now / 0.03))).lognormal(0, between)
        return seconds(size, now) * factor * rng.lognormal(0, within)

    return step


def swept(machine, monkeypatch, sizes, effort="quick"):
    devices = machine.install(monkeypatch)
    watcher = Watcher(devices)
    measure(SweepPlan("fake", tuple(sizes), tuple(devices), EFFORTS[effort]), watcher)
    return watcher.run


def test_a_device_against_itself_differs_in_at_most_five_of_a_hundred(monkeypatch):
    """Three times 200 sizes, noise within and between rounds: the interval excludes 1 in at most 5 %."""
    excluded = 0
    for seed in range(3):
        names = enumerate(("cpu", again("cpu")), 10 * seed)
        speeds = {name: noisy(lambda n, now: 2e-3, 0.03, 0.02, own) for own, name in names}
        run = swept(Machine(speeds), monkeypatch, range(16, 216), "standard")
        found = [run.speedup(m) for m in run.measurements if m.case.device != "cpu"]
        assert len(found) == 200
        excluded += sum(judge(speedup) != OPEN for speedup in found)
    assert excluded <= 30


def test_throttling_is_flagged_and_leaves_the_paired_speed_up_as_it_is(monkeypatch):
    """The whole machine slows to 1 / 1.5 in the middle of a case; the candidate is truly 3 times as fast."""
    machine = Machine({})

    def slowing(seconds):
        return lambda n, now: seconds * (1.5 if len(machine.visits) > 10 else 1.0)

    machine.speeds = {"cpu": noisy(slowing(6e-3), 0.01, 0.005, 1), "mps": noisy(slowing(2e-3), 0.01, 0.005, 2)}
    run = swept(machine, monkeypatch, [64], "standard")
    assert run.speedup(run.measurements[1]).value == pytest.approx(3, rel=0.05)
    for m in run.measurements:
        (flag,) = map(tell, m.flags)
        assert "slower while it was measured" in flag and float(flag.split()[2]) == pytest.approx(1.5, rel=0.05)


def test_the_crossover_of_a_sweep_is_the_true_one(monkeypatch):
    """CPU: 20 GB/s. Accelerator: 150 µs to start, then 160 GB/s."""
    truth = (150e-6 / (4 * (1 / 20e9 - 1 / 160e9))) ** 0.5
    speeds = {
        "cpu": noisy(lambda n, now: 2e-6 + 4 * n * n / 20e9, 0.02, 0.01, 3),
        "mps": noisy(lambda n, now: 150e-6 + 4 * n * n / 160e9, 0.02, 0.01, 4),
    }
    run = swept(Machine(speeds), monkeypatch, (100, 300, 500, 750, 1000, 1500, 2000, 2500, 3000))
    found = {variant.device: sweep_fit for variant, sweep_fit in fits.sweep_fits(run).items()}
    (crossing,) = found["mps"].crossings
    assert crossing.candidate_wins and crossing.size.low <= truth <= crossing.size.high
    assert crossing.size.value == pytest.approx(truth, rel=0.1)
    assert found["mps"].curve.t0.value == pytest.approx(150e-6, rel=0.1)
    assert found["mps"].curve.bandwidth.value == pytest.approx(160e9, rel=0.1)


SWEEP = """
import json, os, sys, emulated_mps
from bench.cli.main import main
sizes = [int(n) for n in sys.argv[2].split(",")]
main(['sweep', '--sizes', sys.argv[2], '--devices', 'mps', '--effort', 'quick', '--out', sys.argv[1]])
truth = {n: emulated_mps.true_seconds('mv', n) for n in sizes}
print(json.dumps(truth | {'all': emulated_mps.stats()['device_seconds']}), flush=True)
os._exit(0)
"""


def in_a_process(tmp_path, code, *arguments, environment=(), **settings):
    """Lines that the code prints where the emulated device with these settings is."""
    script = tmp_path / "script.py"
    script.write_text(code)
    done = run_emulated(script, *arguments, environment=environment, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()


def emulated_sweep(tmp_path, sizes, **settings):
    """The run of a sweep on the emulated device alone, and the truth of each size, in seconds."""
    out = tmp_path / "run.json"
    lines = in_a_process(tmp_path, SWEEP, out, ",".join(map(str, sizes)), **settings)
    return from_json(out.read_text()), json.loads(lines[-1])


REPLAY = """
import json, os, sys, emulated_mps
from functools import partial
from bench.measure import clock, replay
from bench.measure.plans import ReplayPlan, SweepPlan, TrainingPlan
from bench.measure.runner import Runner
from bench.records.budget import EFFORTS
from bench.storage.writing import to_json

true = {"wall": [], "cpu": []}  # of each batch, in order, by other clocks than the program's
both = clock.time_both

def watched(work, synchronize):
    synchronize()
    before, times = emulated_mps.stats()["device_seconds"], os.times()
    at = []
    found = both(lambda: (work(), at.append(os.times())), synchronize)
    true["cpu"].append(at[0].user + at[0].system - times.user - times.system)
    true["wall"].append(emulated_mps.stats()["device_seconds"] - before)
    return found

clock.time_both = watched
training = TrainingPlan(("mlp",), ("mps",), batches=(200,), images=4000, data="synthetic")
plan = ReplayPlan(SweepPlan("matvec", (1000, 1500), ("mps",), EFFORTS["quick"]), training)
runner = Runner()
runner.start(partial(replay.replay, plan), "replay")
snapshot = runner.join()
assert not snapshot.error, snapshot.details
truth = {str(n): emulated_mps.true_seconds("mv", n) for n in plan.sweep.sizes}
print(json.dumps({"run": to_json(snapshot.run), "seconds": truth, **true}), flush=True)
os._exit(0)
"""


@pytest.mark.alone
def test_the_error_that_the_replay_shows_is_the_true_one(tmp_path):
    """The article's clock over the emulated device's own seconds; a batch keeps the device busy, not the host."""

    def replayed():
        found = json.loads(in_a_process(tmp_path, REPLAY, overhead_us=2000, bandwidth_gbs=0.2, gflops=20)[-1])
        run = from_json(found["run"])
        read = {(r.case.workload, r.case.size): r for r in readings(run)}
        assert len(read) == 4
        for n, true_s in found["seconds"].items():
            reading = read["matvec", int(n)]
            assert reading.error == pytest.approx(reading.article_s / true_s, rel=0.05)
            assert reading.error < 0.2, "an unsynchronised clock sees the queueing alone"
        training, batches = read["mlp/train", 200], 20
        cpu, wall = sum(found["cpu"][:batches]), sum(found["wall"][:batches])
        assert len(found["cpu"]) == batches + 1, "and one pass of inference"
        assert wall > 1.0
        assert training.wall_s == pytest.approx(wall, rel=0.05)
        assert training.error == pytest.approx(cpu / wall, rel=0.05, abs=0.02)  # os.times counts in hundredths

    up_to_three_times(replayed)


FALLBACK = """
import os, sys
from bench.cli.main import main
main(['sweep', '--op', 'matvec', '--sizes', '100,200', '--devices', 'mps', '--effort', 'quick', '--out', sys.argv[1]])
os._exit(0)
"""


@pytest.mark.parametrize("variable", ["1", "0"])
def test_an_operator_that_falls_back_to_the_cpu_is_flagged(tmp_path, variable):
    """With the variable the run is green and not of the device: it has to say so. Without it there is no result."""
    out = tmp_path / "run.json"
    in_a_process(tmp_path, FALLBACK, out, environment={"PYTORCH_ENABLE_MPS_FALLBACK": variable}, unimplemented="mv")
    run = from_json(out.read_text())
    assert run.environment.variables["PYTORCH_ENABLE_MPS_FALLBACK"] == variable
    if variable == "0":
        assert len(run.failures) == 2 and all("not currently implemented" in tell(o.error) for o in run.failures)
        return
    assert len(run.measurements) == 2
    for m in run.measurements:
        assert any("operator mv, which the device lacks, ran" in tell(flag) for flag in m.flags), m.flags
    said = [tell(caveat) for caveat in caveats(run)]
    assert any("FALLBACK" in line for line in said) and any("lacks, ran" in line for line in said)


SLOW = {"overhead_us": 200, "bandwidth_gbs": 0.2, "gflops": 20}  # well above what the CPU needs to compute it


def up_to_three_times(work):
    """These compare times with a truth and want a quiet machine: a failing one may try again, twice."""
    for attempt in range(3):
        try:
            return work()
        except AssertionError:
            if attempt == 2:
                raise


@pytest.mark.alone
def test_the_emulated_devices_true_time_is_read_within_three_per_cent(tmp_path):
    def read():
        run, truth = emulated_sweep(tmp_path, (500, 1000, 1500), **SLOW)
        assert run.emulated
        for m in run.measurements:
            assert m.median_s.value == pytest.approx(truth[str(m.case.size)], rel=0.03), m.case
            assert np.median(m.events_s) == pytest.approx(truth[str(m.case.size)], rel=0.03), m.case

    up_to_three_times(read)


def test_a_wrong_device_is_struck_out_at_every_size(tmp_path):
    run, _ = emulated_sweep(tmp_path, (100, 500), wrong_ops="mv", wrong_error=0.01)
    assert [m.status for m in run.measurements] == [WRONG, WRONG]
    assert all("differs from the reference by 1.0 %" in tell(m.reason) for m in run.measurements)


@pytest.mark.alone
def test_a_throttling_device_is_flagged(tmp_path):
    def throttle():
        steady, truth = emulated_sweep(tmp_path, (1000,), **SLOW)
        of_rounds = truth["1000"] * (len(steady.measurements[0].samples_s) + 2 * len(steady.measurements[0].rounds))
        middle = truth["all"] - of_rounds / 2
        run, _ = emulated_sweep(tmp_path, (1000,), throttle_after_s=middle, throttle_factor=1.5, **SLOW)
        said = map(tell, run.measurements[0].flags)
        found = [flag for flag in said if "slower while it was measured" in flag]
        assert found, run.measurements[0]
        assert float(found[0].split()[2]) == pytest.approx(1.5, rel=0.05)

    up_to_three_times(throttle)
