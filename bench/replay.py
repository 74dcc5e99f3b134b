"""The article's two experiments with its own clocks, beside the right ones, on this machine.

Matrix times vector: the article timed 100 calls without warm-up and without waiting for the device, so
on an accelerator its clock stopped when the work had been queued. Training: it added up
``process_time`` around each batch, which counts the CPU seconds of all threads and none of the time spent
waiting; on the CPU N busy threads read up to N times too long, and the work of an accelerator is left
out. Both errors favour the accelerator. Here every batch is timed by both clocks at once, and so is the
pass of inference, whose loading the article's clock contained.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench import stats, timing
from bench.attempts import Attempts
from bench.cases import Case
from bench.datasets import ImageSet, load
from bench.plans import ReplayPlan, TrainingPlan
from bench.registry import NETWORKS, Cost
from bench.results import NOISY, Failure, Learning, Measurement, Outcome, Run
from bench.subject import judge_spread
from bench.sweep import measure
from bench.units import significant
from bench.words import noted, say

if TYPE_CHECKING:
    from torch import Tensor

    from bench.devices import Device
    from bench.runner import Control

CALLS = 100  # of the article's timeit
STORY = Path(__file__).parent / "reference" / "article.json"


@cache
def published() -> dict:
    """The article's figures: ``seconds`` by workload and device, and where they come from."""
    return json.loads(STORY.read_text(encoding="utf-8"))


def replay(plan: ReplayPlan, control: Control) -> None:
    """Run both experiments, publishing the growing run; each measurement has its ``article_s``."""
    from bench.devices import Device

    control.publish(stage=noted("loading the images"))
    images = load(plan.training.data, images=plan.training.images)
    devices = {name: Device(name) for name in plan.sweep.devices}
    control.check()
    read = _article_sweep(plan, devices, control)
    run = _with_article_clock(plan, control, read)
    attempts = Attempts(devices, control)
    for name in plan.training.networks:
        for outcome in _Trainings(plan.training, name, images, devices, control, attempts).outcomes():
            run = run.with_outcomes(outcome)
            control.publish(run=run, current=None)


def _article_sweep(plan: ReplayPlan, devices: dict[str, Device], control: Control) -> dict[Case, float]:
    """Seconds a call by ``timeit``: no warm-up, nobody waits for the device. Failing cases are left out."""
    import torch

    read, attempts = {}, Attempts(devices, control)
    torch.manual_seed(plan.sweep.seed)

    def time(case: Case) -> None:
        device = devices[case.device]
        a = torch.rand(case.size).to(device.torch)
        b = torch.rand(case.size, case.size).to(device.torch)
        with control.timed():
            block = timing.time_block(partial(operator.matmul, b, a), device.synchronize, CALLS)
        read[case] = block.dispatch_per_step

    for case in plan.sweep.cases:
        control.publish(current=case, stage=noted("by the article's clock"))
        if not attempts.why_not(case.device):
            attempts.fails(case.device, partial(time, case))  # the sweep that follows says what is wrong
    return read


def _with_article_clock(plan: ReplayPlan, control: Control, read: dict[Case, float]) -> Run:
    """The right times of the same cases, by the sweep, with what the article's clock had read."""

    def add(run: Run) -> Run:
        outcomes = [replace(o, article_s=read.get(o.case)) if isinstance(o, Measurement) else o for o in run.outcomes]
        settings = {"sweep": dict(run.settings), "training": asdict(plan.training)}
        return replace(run, kind="replay", settings=settings, outcomes=tuple(outcomes))

    latest: list[Run] = []

    def publish(**changes) -> None:
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
        self, plan: TrainingPlan, name: str, images: ImageSet, devices: dict[str, Device], control: Control,
        attempts: Attempts,
    ) -> None:  # fmt: skip
        self._plan, self._network, self._images = plan, NETWORKS[name], images
        self._devices, self._control, self._attempts = devices, control, attempts
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
                done: list[Outcome] = []

                def attempt(case=case, device=device, work=work, done=done) -> None:
                    net.to(device.torch)
                    done.append(self._measurement(case, *work(net, loader, device, case)))

                error = self._attempts.why_not(name) or self._attempts.fails(name, attempt)
                yield Failure(case, error) if error else done.pop()

    def _train(self, net, loader, device: Device, case: Case) -> tuple[list[float], float, float]:
        """Wall seconds of each batch, their sum, and the article's sum."""
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
                    wall, cpu = timing.time_both(partial(batch, x, y), device.synchronize)
                walls.append(wall)
                article += cpu
                self._say(case, len(walls))
        return walls, sum(walls), article

    def _infer(self, net, loader, device: Device, case: Case) -> tuple[list[float], float, float]:
        """One pass over the training images in whatever mode the network was left, loading included."""
        import torch

        self._control.publish(current=case, stage=noted("inference"))

        @torch.no_grad()
        def everything() -> None:
            for x, _ in loader:
                self._control.check()
                net(x.to(device.torch))

        with self._control.timed():
            wall, article = timing.time_both(everything, device.synchronize)
        return [wall / (self._plan.images / self._batch)], wall, article

    def _measurement(self, case: Case, walls: list[float], total: float, article: float) -> Measurement:
        steps = self._plan.epochs * self._plan.images / self._batch
        passes = 3 if case.workload.endswith("train") else 1
        network, batch = self._network, self._batch
        cost = Cost(passes * network.forward_flops * batch, 4 * (network.parameters + batch * 28 * 28), batch)
        learning = Learning(self._plan.images, self._images.label, (total,), {})
        status, reason = judge_spread(walls)
        if len(walls) < stats.FEWEST:
            status, reason = NOISY, noted("A single pass, as in the article: there is no interval.")
        return Measurement(
            case, cost, status, reason, walls[0], 1, tuple(walls), (len(walls),),
            article_s=article / (steps if passes == 3 else self._plan.images / batch), learning=learning,
        )  # fmt: skip

    def _say(self, case: Case, batches: int) -> None:
        if batches % 20 == 1:
            total = self._batches
            position = self._plan.cases.index(case) / len(self._plan.cases)
            done = 0.2 + 0.8 * (position + batches / total / len(self._plan.cases))
            stage = noted("batch {number} of {total}", number=batches, total=total)
            self._control.publish(current=case, stage=stage, done=min(done, 1.0), left_s=None)


@dataclass(frozen=True, slots=True)
class Reading:
    """One case by both clocks, in seconds: of a call, or of all batches."""

    case: Case
    article_s: float
    wall_s: float
    published_s: float | None

    @property
    def error(self) -> float:
        """What the article's clock shows over what is so: 2 reads twice too long."""
        return self.article_s / self.wall_s


def readings(run: Run) -> list[Reading]:
    """Every case that was read by both clocks."""
    found = []
    for m in run.measurements:
        if m.article_s is None or not m.believed:
            continue
        there = published()["seconds"].get(m.case.workload, {}).get(m.case.device)
        if m.learning is None:
            found.append(Reading(m.case, m.article_s, m.median_s.value, None))
        else:
            wall = sum(m.learning.epochs_s)
            per_step = sum(m.samples_s) / len(m.samples_s)
            found.append(Reading(m.case, m.article_s / per_step * wall, wall, there))
    return found


def speedups(run: Run, workload: str, size: int, device: str, choose: Callable[[Reading], float]) -> float | None:
    """How many times faster than the CPU by one of the clocks; None where there is no pair."""
    pair = {r.case.device: choose(r) for r in readings(run) if (r.case.workload, r.case.size) == (workload, size)}
    return pair["cpu"] / pair[device] if "cpu" in pair and device in pair else None


def sentences(run: Run) -> list[str]:
    """For each network: the speed-up by either clock, and what the article's clock missed."""
    by_case = {(r.case.workload, r.case.device): r for r in readings(run) if "/" in r.case.workload}
    found = []
    for (workload, device), reading in by_case.items():
        reference = by_case.get((workload, "cpu"))
        if device == "cpu" or not workload.endswith("train") or reference is None:
            continue
        title, label = NETWORKS[workload.partition("/")[0]].title, run.label(device)
        claimed = reference.article_s / reading.article_s
        true = reference.wall_s / reading.wall_s
        found.append(
            say(
                "Training {title}: by the article's clock {label} is {claimed} times as fast as the CPU, by the wall "
                "{true} times. On the CPU its clock read {there}; on {label} {here}.",
                title=title,
                label=label,
                claimed=significant(claimed),
                true=significant(true),
                there=_why(reference.error),
                here=_why(reading.error),
            )
        )
    return found


def _why(error: float) -> str:
    """What `process_time` did to a time: it adds up threads, and leaves out every kind of waiting."""
    if abs(error - 1) < 0.03:
        return say("the true time")
    if error > 1:
        return say("{factor} times the true time, since it adds up all threads", factor=significant(error))
    return say("{factor} times the true time, since it leaves out the time spent waiting", factor=significant(error))
