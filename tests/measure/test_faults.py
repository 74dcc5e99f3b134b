"""Faults of a device, each injected into the emulated one: one row, one sentence, and the run goes on where it can."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from emulator import run_emulated

from bench.records.case import Case
from bench.records.measurement import Failure, Measurement
from bench.records.run import Run
from bench.storage.store import CRASHED, DONE, open_store
from bench.text.tell import tell

ROOT = Path(__file__).parents[2]
HEAD = """
import os, sys, emulated_mps
from functools import partial
from bench.measure.plans import SweepPlan, TrainingPlan
from bench.measure.runner import Runner
from bench.measure.sweep import measure
from bench.measure.training import train
from bench.records.budget import EFFORTS
from bench.storage.recorder import Recorder
from bench.storage.store import open_store
from bench.text.tell import tell

runner = Runner(recorder=Recorder(open_store()))

def sweep(*sizes, operation="matvec", devices=("cpu", "mps"), meanwhile=lambda changes: None):
    plan = SweepPlan(operation, sizes, devices, EFFORTS["quick"])
    def job(control):
        publish = control.publish
        def watched(**changes):
            publish(**changes)
            meanwhile(changes)
        control.publish = watched
        measure(plan, control)
    runner.start(job, "sweep", plan.cases)
    return runner.join()

def training(**more):
    plan = TrainingPlan(("mlp",), ("cpu", "mps"), batches=(50,), images=500, data="synthetic", **more)
    runner.start(partial(train, plan), "training", plan.cases)
    return runner.join()
"""


def faulty(tmp_path, code, fails=0, **settings) -> Run:
    """The last run kept by a process with the emulated device; its output is put beside a failing test."""
    script = tmp_path / "faulty.py"
    script.write_text(HEAD + code + "\nsys.stdout.flush(); os._exit(0)\n")
    home = {"BENCH_HOME": str(tmp_path / "home")}
    done = run_emulated(script, environment=home, timeout_s=200, **settings)
    assert done.returncode == fails, done.stdout + done.stderr
    store = open_store(tmp_path / "home" / "runs.db")
    assert not store.notices
    return store.load(store.heads()[0].id)


def statuses(run):
    return {(o.case.size, o.case.device): o.status for o in run.outcomes}


def errors(run):
    return {(f.case.size, f.case.device): tell(f.error) for f in run.failures}


def test_out_of_memory_is_a_row_and_smaller_cases_run_again(tmp_path):
    """The memory was there when it was planned, and is not when the middle size needs it."""
    code = """
def meanwhile(changes):
    case = changes.get("current")
    if case is not None:
        emulated_mps.configure(memory_mb=3 if case.size == 1000 else 8192)

sweep(300, 1000, 1100, meanwhile=meanwhile)
emulated_mps.configure(memory_mb=8192)
first = runner.snapshot.run
assert {(o.case.size, o.case.device): o.status for o in first.outcomes}[1000, "mps"] == "failed", first.failures
assert {o.status for o in first.outcomes if o.case.size != 1000} <= {"converged", "noisy"}, first.failures
sweep(200)
"""
    run = faulty(tmp_path, code)
    assert not run.failures and len(run.measurements) == 2
    before = open_store(tmp_path / "home" / "runs.db")
    (error,) = errors(before.load(before.heads()[1].id)).values()
    assert "out of memory" in error and "\n" not in error


def test_an_operator_that_is_not_there_fails_alone(tmp_path):
    run = faulty(tmp_path, "sweep(100, 200)", unimplemented="mv")
    assert statuses(run)[100, "cpu"] != "failed" != statuses(run)[200, "cpu"]
    assert set(errors(run)) == {(100, "mps"), (200, "mps")}
    assert all("not currently implemented" in error for error in errors(run).values())


def test_an_error_in_the_middle_costs_one_case(tmp_path):
    code = """
def meanwhile(changes):
    case = changes.get("current")
    if case and case.size == 200 and case.device == "mps" and tell(changes["stage"]) == "round 3":
        emulated_mps.configure(fail_at=5)

sweep(100, 200, 300, meanwhile=meanwhile)
"""
    run = faulty(tmp_path, code)
    assert set(errors(run)) == {(200, "mps")} and "command buffer failed" in errors(run)[200, "mps"]
    assert len(run.measurements) == 5


def test_a_device_that_fails_for_good_is_not_asked_again(tmp_path):
    code = """
def meanwhile(changes):
    case = changes.get("current")
    if case and case.size == 200 and case.device == "mps":
        emulated_mps.configure(unimplemented=["mv", "add", "copy", "sum", "fill", "empty"])

snapshot = sweep(100, 200, 300, 400, meanwhile=meanwhile)
lost = next(device for device in snapshot.devices if device.name == "mps")
assert not lost.usable and "stopped working" in tell(lost.reason), lost
"""
    run = faulty(tmp_path, code)
    found = errors(run)
    assert set(found) == {(200, "mps"), (300, "mps"), (400, "mps")}
    assert found[300, "mps"] == found[400, "mps"] and found[300, "mps"].startswith("Not tried. It stopped working")
    assert len(run.measurements) == 5


@pytest.mark.parametrize("settings", [{"nan_ops": "mv"}, {"wrong_ops": "mv", "wrong_error": 0.02}])
def test_a_wrong_answer_is_a_row_that_says_so(tmp_path, settings):
    run = faulty(tmp_path, "sweep(100, 200)", **settings)
    wrong = [m for m in run.measurements if m.case.device == "mps"]
    assert len(wrong) == 2 and {m.status for m in wrong} == {"wrong"} and all(tell(m.reason) for m in wrong)
    assert all(run.speedup(m) is None for m in wrong)


def test_an_error_in_training_ends_that_device_and_the_other_goes_on(tmp_path):
    run = faulty(tmp_path, "training()", unimplemented="native_batch_norm_backward,batch_norm_backward")
    assert {f.case.device for f in run.failures} == {"mps"} and len(run.failures) == 2
    assert {m.case.workload for m in run.measurements} == {"mlp/train", "mlp/infer"}


def test_a_hang_is_waited_for_and_seen_from_outside(tmp_path):
    """While the device hangs the snapshot grows old; that is what the page warns of. Then the run goes on."""
    code = """
import threading
from bench.measure import clock
oldest = [0.0]
def watch():
    while runner.snapshot.state.value != "done":
        if runner.snapshot.active:
            oldest[0] = max(oldest[0], clock.now() - runner.snapshot.heard_at)
        threading.Event().wait(0.05)

def meanwhile(changes):
    case = changes.get("current")
    if case and case.size == 200 and case.device == "mps" and tell(changes["stage"]) == "round 2":
        emulated_mps.configure(hang_at=3, hang_s=2.5)

threading.Thread(target=watch, daemon=True).start()
sweep(100, 200, 300, meanwhile=meanwhile)
assert 2.0 < oldest[0] < 30, oldest
"""
    run = faulty(tmp_path, code)
    assert len(run.measurements) == 6 and not run.failures


def test_after_an_abort_the_next_start_names_the_case_and_goes_on_without_it(tmp_path):
    code = """
def meanwhile(changes):
    case = changes.get("current")
    if case and case.size == 200 and case.device == "mps":
        emulated_mps.configure(abort_at=3)

sweep(100, 200, 300, meanwhile=meanwhile)
"""
    run = faulty(tmp_path, code, fails=-signal.SIGABRT)
    assert {(m.case.size, m.case.device) for m in run.measurements} == {(100, "cpu"), (100, "mps")}
    store = open_store(tmp_path / "home" / "runs.db")
    (crash,) = store.unfinished()
    assert crash.case == Case("matvec", 200, "mps") and (crash.outcomes, crash.planned) == (2, 6)

    again = """
from bench.measure.resume import remainder
store = open_store()
(crash,) = store.unfinished()
store.recover(crash.id)
runner.wake(); runner.join()
rest = remainder(store.load(crash.id), {device.name: device for device in runner.snapshot.usable})
runner.start(rest.job, rest.kind, rest.planned)
runner.join()
"""
    rest = faulty(tmp_path, again)
    (killer,) = rest.failures
    assert killer.case == crash.case
    assert tell(killer.error) == "The program ended abruptly while this was measured."
    assert {(m.case.size, m.case.device) for m in rest.measurements} == set(statuses(rest)) - {(200, "mps")}
    assert len(rest.measurements) == 5 and all(isinstance(o, Measurement | Failure) for o in rest.outcomes)
    assert [head.state for head in store.heads()] == [DONE, CRASHED]


def command(tmp_path, *arguments, home="home"):
    return subprocess.run(
        [sys.executable, "-m", "bench", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=100,
        env={**os.environ, "BENCH_HOME": str(tmp_path / home)},
    )  # fmt: skip


def test_a_folder_that_cannot_be_written_costs_the_record_not_the_run(tmp_path):
    (tmp_path / "file").write_text("no folder")
    sweep = ("sweep", "--sizes", "64", "--devices", "cpu", "--effort", "quick", "--out", tmp_path / "run.json")
    done = command(tmp_path, *sweep, home="file/home")
    assert done.returncode == 0 and "This run is not kept on disk." in done.stderr
    assert json.loads((tmp_path / "run.json").read_text())["results"][0]["samples_s"]


def test_lost_image_files_end_as_a_sentence(tmp_path):
    (tmp_path / "images").mkdir()
    done = command(tmp_path, "train", "--data", tmp_path / "images", "--devices", "cpu", "--images", "200")
    assert done.returncode == 1 and "train-images-idx3-ubyte" in done.stderr and "Traceback" not in done.stderr
