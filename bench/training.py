"""Trains networks and uses them for inference, on each device from the same weights and batches.

Wall clock, device synchronised. An epoch is timed in blocks of batches; between two blocks the loss
is read and the page may draw, outside the clock. What the headline contains: taking the batch from
memory (loading), copying it to the device, forward, loss, backward and optimiser. What it does not:
warm-up, the reading of losses, the test. Where a step's time goes is measured apart, on a copy of
the network, because waiting after each phase would slow the headline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from bench import stats, timing
from bench.attempts import Attempts
from bench.cases import Case, TrainingPlan
from bench.datasets import SOURCES, ImageSet, load
from bench.environment import capture_environment
from bench.learner import Learner, initial_weights, order
from bench.registry import NETWORKS, Cost
from bench.results import CONVERGED, NOISY, REDUCED, WRONG, Check, Failure, Learning, Measurement, Outcome, Run
from bench.runner import GrowingRun
from bench.verify import check_answers, check_step, check_trained, worse
from bench.watch import Watch

if TYPE_CHECKING:
    from torch import Tensor

    from bench.devices import Device
    from bench.runner import Control

BLOCK_S = 0.3  # a block of batches lasts about so long: often enough for a live curve and for Stop
MOST_STEPS = 200  # a block: the loss is read once a block, not every batch
FEWEST_BLOCKS = 12  # an epoch, if it has so many batches: fewer would tell little of how sure the median is
POINTS = 60  # of a loss curve in an epoch, at most about
SLOW_STEP_S = 1.0  # from there a block is a single step, so that Stop is heard
WARM_UPS, PHASE_STEPS = 5, 12
TARGET = 0.05  # of the median's interval; an epoch is as long as it is, so it is only reported


def train(plan: TrainingPlan, control: Control, before: Sequence[Outcome] = ()) -> None:
    """Run the plan, publishing the growing run and the curves. DataError if the images can't be had.

    ``before`` are outcomes of an earlier part of the same run, which the plan skips.
    """
    from bench.devices import Device

    control.publish(stage="loading the images")
    images = load(plan.data, images=plan.images)
    control.check()
    devices = {name: Device(name) for name in plan.devices}
    hardware = {name: control.devices[name].hardware for name in plan.devices}
    run = Run("training", capture_environment(hardware), settings_of(plan, images.label), tuple(before))
    finish = GrowingRun(run, control).add
    watch = Watch(plan, control)
    attempts = Attempts(devices, control)
    for name in filter(plan.devices_for, plan.networks):
        here = {device: devices[device] for device in plan.devices_for(name)}
        _Contest(plan, name, images, here, control, watch, attempts, finish).measure()
        control.publish(current=None, samples_s=())


@dataclass
class _Progress:
    """What one device has to show for itself so far."""

    learner: Learner
    check: Check
    first_call_s: float
    phases: dict[str, tuple[float, ...]]
    infer_first_call_s: float
    infer_phases: dict[str, tuple[float, ...]]
    steps: int  # batches a block
    flags: list[str]  # operators that ran elsewhere
    samples: list[float] = field(default_factory=list)  # seconds a batch, of each block
    rounds: list[int] = field(default_factory=list)  # blocks of each epoch
    epochs_s: list[float] = field(default_factory=list)
    last_loss: float = 0.0  # mean over the last epoch


class _Contest:
    """One network on all devices: an epoch on each, then the next epoch on each."""

    def __init__(
        self, plan: TrainingPlan, name: str, images: ImageSet, devices: dict[str, Device], control: Control,
        watch: Watch, attempts: Attempts, finish: Callable[[Outcome], None],
    ) -> None:  # fmt: skip
        self._plan, self._network, self._images = plan, NETWORKS[name], images
        self._devices, self._control, self._watch = devices, control, watch
        self._attempts, self._finish = attempts, finish
        self._weights = initial_weights(self._network, plan.seed)
        self._segment = 1  # batches whose losses make one point of a curve

    def measure(self) -> None:
        running: dict[str, _Progress] = {}
        for name, device in self._devices.items():
            if why := self._attempts.why_not(name):
                self._fail(name, why, ("train", "infer"))
                continue
            self._attempt(name, lambda n=name, d=device: running.update({n: self._prepare(d)}))
        self._share_segments(list(running.values()))
        for epoch in range(self._plan.epochs):
            for name in list(running):
                if not self._attempt(name, lambda p=running[name], e=epoch: self._epoch(p, e)):
                    del running[name]
        for name in list(running):
            progress = running.pop(name)  # the last reference, so that its memory goes before the next one's
            self._attempt(name, lambda p=progress: self._infer(p), modes=("infer",))
            self._attempt(name, lambda p=progress: self._conclude(p), modes=("train",))

    def _share_segments(self, running: list[_Progress]) -> None:
        """Losses are averaged over the same batches everywhere, so that the curves can lie on each other."""
        points = -(-self._plan.steps_per_epoch // POINTS)
        self._segment = max(1, min([points, *(progress.steps for progress in running)]))
        for progress in running:
            progress.steps -= progress.steps % self._segment

    def _prepare(self, device: Device) -> _Progress:
        """Warm up and take the phases apart on a copy; then make the network that will be trained."""
        from bench.devices import fallback_flags

        plan, sync = self._plan, device.synchronize
        self._watch.tell(self._case("train", device.name), "first step and warm-up", 0.0, 0.0)
        copy = self._learner(device)
        batch, *_, last = (*order(plan, 0).split(plan.batch),) * 2
        with self._control.timed():
            with fallback_flags() as flags:
                first = timing.time_block(lambda: copy.step(batch), sync)
            if len(last) < len(batch):  # its shape needs a compilation of its own
                copy.step(last)
            warm_ups = 1 if first.seconds > WARM_UPS * SLOW_STEP_S else WARM_UPS
            step_s = min(timing.time_block(lambda: copy.step(batch), sync, 2).per_step for _ in range(warm_ups))
            repeats = PHASE_STEPS if step_s < SLOW_STEP_S else 1
            phases = copy.phases(copy.step, batch, repeats)
        with self._control.timed():
            copy.net.eval()
            infer_first = timing.time_block(lambda: copy.infer(batch), sync)
            if len(last) < len(batch):
                copy.infer(last)
            infer_phases = copy.phases(copy.infer, batch, repeats)
        wanted = max(1, min(MOST_STEPS, round(BLOCK_S / step_s), plan.steps_per_epoch // FEWEST_BLOCKS))
        self._control.check()
        check = check_step(self._network, self._learner(device), batch, fresh=True)
        return _Progress(
            self._learner(device), check, first.seconds, phases, infer_first.seconds, infer_phases,
            wanted if step_s < SLOW_STEP_S else 1, flags,
        )  # fmt: skip

    def _epoch(self, progress: _Progress, epoch: int) -> None:
        import torch

        plan, learner, device = self._plan, progress.learner, progress.learner.device
        case, batches = self._case("train", device.name), order(plan, epoch).split(plan.batch)
        before, seconds, seen, losses, blocks = sum(progress.epochs_s), 0.0, 0, 0.0, 0
        learner.wake(batches[0])  # it slept while another device had its turn
        for part in _parts(batches, progress.steps):
            segments = [sum(map(len, some)) for some in _parts(part, self._segment)]
            totals = torch.zeros(len(segments), device=device.torch)
            work = partial(learner.steps, part, totals, self._segment)
            block, images = self._timed_block(work, device, part)
            for total, count in zip(totals.tolist(), segments, strict=True):  # read outside the clock, once a block
                seen, losses, seconds = seen + count, losses + total, seconds + block * count / images
                so_far = epoch * plan.images + seen
                self._watch.extend(self._network.name, device.name, so_far, total / count, before + seconds)
            blocks += 1
            progress.samples.append(block / images * plan.batch)
            part_done = 0.9 * (epoch * plan.images + seen) / (plan.images * plan.epochs)
            stage = f"epoch {epoch + 1} of {plan.epochs}"
            self._watch.tell(case, stage, part_done, before + seconds, tuple(progress.samples))
        progress.rounds.append(blocks)
        progress.epochs_s.append(seconds)
        progress.last_loss = losses / plan.images

    def _infer(self, progress: _Progress) -> None:
        """Inference over the training images, timed; then its answers are checked."""
        plan, learner, device = self._plan, progress.learner, progress.learner.device
        case, batches = self._case("infer", device.name), order(plan, 0).split(plan.batch)
        spent = sum(progress.epochs_s)
        samples, seconds, seen = [], 0.0, 0
        learner.wake(batches[0])
        learner.net.eval()
        for part in _parts(batches, 2 * progress.steps):
            block, images = self._timed_block(lambda p=part: learner.infer_all(p), device, part)
            samples.append(block / images * plan.batch)
            seconds, seen = seconds + block, seen + images
            self._watch.tell(case, "inference", 0.9 + 0.1 * seen / plan.images, spent + seconds, tuple(samples))
        learning = Learning(plan.images, self._images.label, (seconds,), progress.infer_phases)
        check = check_answers(self._network, learner, batches[0])
        calls, rounds = 2 * progress.steps, [len(samples)]
        self._record("infer", progress, 1, progress.infer_first_call_s, calls, samples, rounds, learning, check)

    def _conclude(self, progress: _Progress) -> None:
        """The test, untimed; then one more step, checked, which spoils the weights: so it comes last."""
        plan, learner, device = self._plan, progress.learner, progress.learner.device
        curve = self._watch.curve(self._network.name, device.name)
        learning = Learning(
            plan.images, self._images.label, tuple(progress.epochs_s), progress.phases,
            tuple(zip(curve.images, curve.losses, strict=True)), progress.last_loss,
            learner.accuracy(self._control.check),
        )  # fmt: skip
        learner.net.train()
        after = check_trained(self._network, learner, order(plan, 0).split(plan.batch)[:3])
        self._record(
            "train", progress, 3, progress.first_call_s, progress.steps, progress.samples, progress.rounds, learning,
            worse(progress.check, after),
        )  # fmt: skip

    def _timed_block(self, work: Callable[[], object], device: Device, part: list[Tensor]) -> tuple[float, int]:
        """Wall seconds of the work, and how many images it was."""
        with self._control.timed():
            block = timing.time_block(work, device.synchronize)
        return block.seconds, sum(len(batch) for batch in part)

    def _record(
        self, mode, progress: _Progress, passes, first_call_s, calls, samples, rounds, learning: Learning, check: Check
    ) -> None:
        status, reason = judge_spread(samples)
        if len(samples) < stats.FEWEST:
            status, reason = NOISY, f"Only {len(samples)} blocks were timed, too few for an interval: use more images."
        if check.verdict == WRONG:
            status, reason = WRONG, " ".join(filter(None, (check.text, reason)))
        flags = (*progress.flags, *([check.text] if check.verdict == REDUCED else []))
        case = self._case(mode, progress.learner.device.name)
        self._finish(Measurement(
            case, self._cost(passes), status, reason, first_call_s, calls, tuple(samples), tuple(rounds),
            check=check, flags=flags, learning=learning,
        ))  # fmt: skip

    def _cost(self, passes: int) -> Cost:
        """Of a batch; backward counts as two forward passes, and reads and writes the weights and Adam's moments."""
        network, batch = self._network, self._plan.batch
        weights = network.parameters * (1 if passes == 1 else 8)
        return Cost(passes * network.forward_flops * batch, 4 * (weights + batch * 28 * 28), batch)

    def _learner(self, device: Device) -> Learner:
        return Learner(self._network, device, self._images, self._plan, self._weights)

    def _case(self, mode: str, device: str) -> Case:
        return self._plan.case(self._network.name, mode, device)

    def _attempt(self, device: str, work: Callable[[], object], modes=("train", "infer")) -> bool:
        """Do the work; what the device cannot do ends this network on it, and the others go on."""
        error = self._attempts.fails(device, work)
        if error:
            self._fail(device, error, modes)
        return not error

    def _fail(self, device: str, error: str, modes: Sequence[str]) -> None:
        for mode in modes:
            self._finish(Failure(self._case(mode, device), error))
        self._watch.drop(self._network.name, device)


def settings_of(plan: TrainingPlan, data: str) -> dict[str, object]:
    """The plan as plain values; of the images their label and kind, never the folder they lie in."""
    return asdict(plan) | {"data": data, "source": plan.data if plan.data in SOURCES else "folder"}


def judge_spread(samples: Sequence[float]) -> tuple[str, str]:
    """Status and reason of samples whose number was not chosen: CONVERGED, or NOISY above TARGET."""
    width = stats.median(samples).relative_half_width
    if width > TARGET:
        return NOISY, f"The interval is ±{width:.0%} of the median, wanted ±{TARGET:.0%}."
    return CONVERGED, ""


def _parts(batches: tuple[Tensor, ...], steps: int) -> Iterator[list[Tensor]]:
    for i in range(0, len(batches), steps):
        yield list(batches[i : i + steps])
