"""The article's clocks beside the right ones: the error shown is the true one."""

from dataclasses import replace

import pytest
import torch
from fakes import ENVIRONMENT, Watcher, measurement

from bench.analysis import article_clocks
from bench.analysis.sweep_verdict import noise_band, of_noise
from bench.machine.devices import Device
from bench.measure import clock, replay
from bench.measure.discovery import find_devices
from bench.measure.faults import FaultHandler
from bench.measure.gate import Gate
from bench.measure.job import Control
from bench.measure.plans import ReplayPlan, SweepPlan, TrainingPlan
from bench.records.budget import EFFORTS
from bench.records.measurement import Failure
from bench.records.run import Run
from bench.text.tell import tell
from bench.workloads import article

FOUND = {info.name: info for info in find_devices() if info.usable}


@pytest.fixture(scope="module")
def run():
    training = TrainingPlan(("mlp",), tuple(FOUND), batches=(50,), images=500, data="synthetic")
    plan = ReplayPlan(SweepPlan("matvec", (64, 256), tuple(FOUND), EFFORTS["quick"]), training)
    published = []
    control = Control(dict(FOUND), Gate(settle=lambda: None), lambda **changes: published.append(changes))
    replay.replay(plan, control)
    final = next(p["run"] for p in reversed(published) if "run" in p)
    assert tuple(o.case for o in final.outcomes) == plan.cases
    return final


def test_every_case_is_read_by_both_clocks(run):
    found = article_clocks.readings(run)
    assert {r.case for r in found} == {m.case for m in run.measurements}
    assert all(r.article_s > 0 and r.wall_s > 0 for r in found)
    assert run.kind == "replay"


def test_published_figures_stand_beside_those_of_the_same_case_only(run):
    by_case = {(r.case.workload, r.case.device): r.published_s for r in article_clocks.readings(run)}
    assert by_case["mlp/train", "cpu"] == 5.1287
    assert by_case["matvec", "cpu"] is None


def test_the_published_table_is_the_articles():
    seconds = article.published()["seconds"]
    assert round(seconds["convnet/train"]["cpu"] / seconds["convnet/train"]["mps"], 1) == 14.1


class Clocks:
    """Wall and CPU clock wound by hand."""

    def __init__(self, monkeypatch):
        self.wall = self.cpu = 0.0
        monkeypatch.setattr(clock, "now", lambda: self.wall)
        monkeypatch.setattr(clock, "process_seconds", lambda: self.cpu)

    def pass_by(self, wall, cpu):
        self.wall += wall
        self.cpu += cpu


def test_process_time_adds_up_threads_and_leaves_out_waiting(monkeypatch):
    clocks = Clocks(monkeypatch)
    eight_threads = clock.time_both(lambda: clocks.pass_by(1, 8), lambda: None)
    assert eight_threads == (1, 8)
    accelerator = clock.time_both(lambda: clocks.pass_by(0.1, 0.1), lambda: clocks.pass_by(2, 0))
    assert accelerator == pytest.approx((2.1, 0.1))


@pytest.mark.parametrize("threads", [1, 3, 8])
@pytest.mark.parametrize("queued", [0.02, 0.5])
def test_the_error_shown_is_the_true_one(monkeypatch, threads, queued):
    """A CPU step of 10 ms on some threads; an accelerator step of 4 ms, of which the host works a part."""
    clocks = Clocks(monkeypatch)

    class Fake(Device):
        def synchronize(self):
            if self.fake == "mps":
                clocks.pass_by(4e-3 * (1 - queued) * self.pending, 0)
            self.pending = 0

    def fake(name):
        device = Fake("cpu")
        device.fake, device.pending = name, 0
        return device

    plan = TrainingPlan(("mlp",), ("cpu", "mps"), batches=(50,), images=100, data="synthetic")
    devices = {name: fake(name) for name in plan.devices}
    current = []

    def forward(out):
        device = current[-1]
        device.pending += 1
        clocks.pass_by(*((10e-3, 10e-3 * threads) if device.fake == "cpu" else (4e-3 * queued, 4e-3 * queued)))
        return out

    from bench.workloads.datasets import load

    watcher = Watcher(FOUND)
    images, faults = load("synthetic", images=100), FaultHandler(devices, watcher)
    trainings = replay._Trainings(plan, "mlp", images, devices, watcher, faults)
    for work in ("_train", "_infer"):
        original = getattr(trainings, work)

        def wrapped(net, loader, device, case, original=original):
            current.append(device)
            handle = net.register_forward_hook(lambda module, args, out: forward(out))
            try:
                return original(net, loader, device, case)
            finally:
                handle.remove()

        monkeypatch.setattr(trainings, work, wrapped)
    run = Run("replay", ENVIRONMENT, {}, tuple(trainings.outcomes()))
    errors = {(r.case.workload, r.case.device): r.error for r in article_clocks.readings(run)}
    assert errors["mlp/train", "cpu"] == pytest.approx(threads, rel=0.05)
    assert errors["mlp/train", "mps"] == pytest.approx(queued, rel=0.05)
    assert errors["mlp/infer", "mps"] == pytest.approx(queued, rel=0.05)
    (sentence,) = article_clocks.of_replay(run)
    assert f"by the wall {10 / 4:.2f} times" in tell(sentence)


def test_the_unsynchronised_clock_shows_the_time_to_queue(monkeypatch):
    from fakes import Bench

    bench = Bench(step_s=1e-2, launch_s=1e-5)
    monkeypatch.setattr(clock, "now", bench.clock)
    block = clock.time_block(bench.step, bench.synchronize, replay.CALLS)
    assert block.dispatch_per_step == pytest.approx(1e-5)
    assert block.per_step == pytest.approx(1e-2, rel=0.01)


def test_a_device_that_cannot_ends_as_a_row(monkeypatch):
    def broken(*arguments):
        raise NotImplementedError("no such operator")

    monkeypatch.setattr(torch.optim, "Adam", broken)
    plan = TrainingPlan(("mlp",), ("cpu",), batches=(50,), images=100, data="synthetic")
    from bench.workloads.datasets import load

    devices, watcher = {"cpu": Device("cpu")}, Watcher(FOUND)
    images, faults = load("synthetic", images=100), FaultHandler(devices, watcher)
    train, infer = replay._Trainings(plan, "mlp", images, devices, watcher, faults).outcomes()
    assert isinstance(train, Failure) and infer.article_s > 0


def against_itself(factors):
    outcomes = []
    for n, factor in factors.items():
        outcomes += [measurement("mps", n, 1e-3), measurement("mps#2", n, 1e-3 * factor)]
    return Run("aa", replace(ENVIRONMENT, devices={"mps": "x", "mps#2": "x"}), {}, tuple(outcomes))


def test_a_device_against_itself_tells_the_instruments_noise():
    run = against_itself({100: 1.0, 200: 1.02})
    assert run.reference == "mps"
    assert noise_band(run) == pytest.approx(1.02)
    first = tell(of_noise(run)[0])
    assert first.startswith("MPS against itself: 1 of 2 intervals hold 1") and "2.0 %" in first
