"""The article's two experiments with its own clocks, beside the right ones, on this machine.

Matrix times vector: the article timed 100 calls without warm-up and without waiting for the device, so
on an accelerator its clock stopped when the work had been queued. Training: it added up
``process_time`` around each batch, which counts the CPU seconds of all threads and none of the time spent
waiting; on the CPU N busy threads read up to N times too long, and the work of an accelerator is left
out. Both errors favour the accelerator. Here every batch is timed by both clocks at once, and so is the
pass of inference, whose loading the article's clock contained.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import stats
from bench.measure import clock
from bench.measure.faults import FaultHandler
from bench.measure.plans import ReplayPlan, TrainingPlan
from bench.measure.sampler import judge_spread
from bench.measure.sweep import measure
from bench.records.case import Case
from bench.records.cost import Cost
from bench.records.measurement import NOISY, Failure, Learning, Measurement, Outcome
from bench.records.reason import because
from bench.records.run import Run
from bench.workloads.datasets import ImageSet, load
from bench.workloads.networks import NETWORKS

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from bench.machine.devices import Device
    from bench.measure.job import Control

    Batches = Iterable[tuple[Tensor, Tensor]]  # images and labels

CALLS = 100  # of the article's timeit
Clocked = tuple[list[float], float, float]  # wall seconds of each batch, of all, and of all by the article's clock


def replay(plan: ReplayPlan, control: Control) -> None:
    """Run both experiments, publishing the growing run; each measurement has its ``article_s``."""
    from bench.machine.devices import Device

    control.publish(stage=because("stage_loading"))
    images = load(plan.training.data, images=plan.training.images)
    devices = {name: Device(name) for name in plan.sweep.devices}
    control.check()
    read = _article_sweep(plan, devices, control)
    run = _with_article_clock(plan, control, read)
    faults = FaultHandler(devices, control)
    for name in plan.training.networks:
        for outcome in _Trainings(plan.training, name, images, devices, control, faults).outcomes():
            run = run.with_outcomes(outcome)
            control.publish(run=run, current=None)


def _article_sweep(plan: ReplayPlan, devices: dict[str, Device], control: Control) -> dict[Case, float]:
    """Seconds a call by ``timeit``: no warm-up, nobody waits for the device. Failing cases are left out."""
    import torch

    read: dict[Case, float] = {}
    faults = FaultHandler(devices, control)
    torch.manual_seed(plan.sweep.seed)

    def time(case: Case) -> None:
        device = devices[case.device]
        a = torch.rand(case.size).to(device.torch)
        b = torch.rand(case.size, case.size).to(device.torch)
        with control.timed():
            block = clock.time_block(partial(operator.matmul, b, a), device.synchronize, CALLS)
        read[case] = block.dispatch_per_step

    for case in plan.sweep.cases:
        control.publish(current=case, stage=because("stage_article_clock"))
        if not faults.why_not(case.device):
            faults.fails(case.device, partial(time, case))  # the sweep that follows says what is wrong
    return read


def _with_article_clock(plan: ReplayPlan, control: Control, read: dict[Case, float]) -> Run:
    """The right times of the same cases, by the sweep, with what the article's clock had read."""

    def add(run: Run) -> Run:
        outcomes = [replace(o, article_s=read.get(o.case)) if isinstance(o, Measurement) else o for o in run.outcomes]
        settings = {"sweep": dict(run.settings), "training": asdict(plan.training)}
        return replace(run, kind="replay", settings=settings, outcomes=tuple(outcomes))

    latest: list[Run] = []

    def publish(**changes: Any) -> None:
        if "run" in changes:
            latest[:] = [changes["run"]]
            changes["run"] = add(changes["run"])
        if "done" in changes:  # the sweep is the smaller part
            changes["done"] *= 0.2
            changes["left_s"] = None
        control.publish(**changes)

    measure(plan.sweep, replace(control, publish=publish))
    return add(latest[0])


class _Trainings:
    """One network, the same object first on the first device, then moved to the next, as in the article."""

    def __init__(
        self,
        plan: TrainingPlan,
        name: str,
        images: ImageSet,
        devices: dict[str, Device],
        control: Control,
        faults: FaultHandler,
    ) -> None:
        self._plan, self._network, self._images = plan, NETWORKS[name], images
        self._devices, self._control, self._faults = devices, control, faults
        self._batch = plan.batches[0]
        self._batches = plan.epochs * -(-plan.images // self._batch)

    def outcomes(self) -> Iterator[Outcome]:
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(self._plan.seed)
        net = self._network.make()
        pairs = TensorDataset(self._images.train_x, self._images.train_y)
        loader = DataLoader(pairs, batch_size=self._batch, shuffle=True)
        for name, device in self._devices.items():
            for mode, work in (("train", self._train), ("infer", self._infer)):
                case = Case(f"{self._network.name}/{mode}", self._batch, name)
                yield self._outcome(case, device, net, partial(work, net, loader, device, case))

    def _outcome(self, case: Case, device: Device, net: Module, work: Callable[[], Clocked]) -> Outcome:
        done: list[Outcome] = []

        def attempt() -> None:
            net.to(device.torch)
            done.append(self._measurement(case, *work()))

        error = self._faults.why_not(case.device) or self._faults.fails(case.device, attempt)
        return Failure(case, error) if error else done.pop()

    def _train(self, net: Module, loader: Batches, device: Device, case: Case) -> Clocked:
        """The article's loop, each batch by both clocks."""
        import torch
        from torch.nn.functional import cross_entropy

        optimizer, walls, article = torch.optim.Adam(net.parameters(), lr=self._plan.learning_rate), [], 0.0

        def batch(x: Tensor, y: Tensor) -> None:
            x, y = x.to(device.torch), y.to(device.torch)
            loss = cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        for _ in range(self._plan.epochs):
            for x, y in loader:
                with self._control.timed():
                    # the article read the loss after each batch, outside its clock, and waited there
                    wall, cpu = clock.time_both(partial(batch, x, y), device.synchronize)
                walls.append(wall)
                article += cpu
                self._say(case, len(walls))
        return walls, sum(walls), article

    def _infer(self, net: Module, loader: Batches, device: Device, case: Case) -> Clocked:
        """One pass over the training images in whatever mode the network was left, loading included."""
        import torch

        self._control.publish(current=case, stage=because("stage_inference"))

        @torch.no_grad()
        def everything() -> None:
            for x, _ in loader:
                self._control.check()
                net(x.to(device.torch))

        with self._control.timed():
            wall, article = clock.time_both(everything, device.synchronize)
        return [wall / (self._plan.images / self._batch)], wall, article

    def _measurement(self, case: Case, walls: list[float], total: float, article: float) -> Measurement:
        steps = self._plan.epochs * self._plan.images / self._batch
        passes = 3 if case.workload.endswith("train") else 1
        network, batch = self._network, self._batch
        cost = Cost(passes * network.forward_flops * batch, 4 * (network.parameters + batch * 28 * 28), batch)
        learning = Learning(self._plan.images, self._images.label, (total,), {})
        status, reason = judge_spread(walls)
        if len(walls) < stats.FEWEST:
            status, reason = NOISY, because("single_pass")
        return Measurement(
            case,
            cost,
            status,
            reason,
            walls[0],
            1,
            tuple(walls),
            (len(walls),),
            article_s=article / (steps if passes == 3 else self._plan.images / batch),
            learning=learning,
        )

    def _say(self, case: Case, batches: int) -> None:
        if batches % 20 == 1:
            total = self._batches
            position = self._plan.cases.index(case) / len(self._plan.cases)
            done = 0.2 + 0.8 * (position + batches / total / len(self._plan.cases))
            stage = because("stage_batch", number=batches, total=total)
            self._control.publish(current=case, stage=stage, done=min(done, 1.0), left_s=None)
