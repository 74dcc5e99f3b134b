"""One network at one batch size: an epoch on each variant, then the next epoch on each; inference; the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from bench import stats
from bench.machine import energy
from bench.machine.memory import peak_memory
from bench.measure import clock
from bench.measure.compiling import forget_compiled, surely_compiled
from bench.measure.faults import FaultHandler
from bench.measure.plans import TrainingPlan
from bench.measure.progress import TrainingProgress
from bench.measure.sampler import judge_spread
from bench.measure.trainer import Trainer, initial_weights, order
from bench.measure.verify import worse
from bench.measure.verify_networks import check_answers, check_step, check_trained
from bench.records.case import Case, Variant
from bench.records.cost import Cost
from bench.records.formats import WIDTHS
from bench.records.measurement import NOISY, REDUCED, WRONG, Check, Failure, Learning, Measurement, Memory, Outcome
from bench.records.reason import Reason, because
from bench.workloads.datasets import ImageSet
from bench.workloads.networks import NETWORKS

if TYPE_CHECKING:
    from torch import Tensor

    from bench.machine.devices import Device
    from bench.measure.job import Control

BLOCK_S = 0.3  # a block of batches lasts about so long: often enough for a live curve and for Stop
MOST_STEPS = 200  # a block: the loss is read once a block, not every batch
FEWEST_BLOCKS = 12  # an epoch, if it has so many batches: fewer would tell little of how sure the median is
POINTS = 60  # of a loss curve in an epoch, at most about
SLOW_STEP_S = 1.0  # from there a block is a single step, so that Stop is heard
WARM_UPS, PHASE_STEPS = 5, 12
SINGLES_S, SINGLES_BLOCKS = 1.0, 20  # how long single images are tried, and in how many blocks


@dataclass
class _Progress:
    """What one variant has to show for itself so far."""

    variant: Variant
    trainer: Trainer
    check: Check
    first_call_s: float
    phases: dict[str, tuple[float, ...]]
    memory: Memory | None
    infer_first_call_s: float
    infer_phases: dict[str, tuple[float, ...]]
    infer_memory: Memory | None
    steps: int  # batches a block
    flags: list[Reason]  # operators that ran elsewhere
    samples: list[float] = field(default_factory=list)  # seconds a batch, of each block
    rounds: list[int] = field(default_factory=list)  # blocks of each epoch
    epochs_s: list[float] = field(default_factory=list)
    energy_j: list[float] = field(default_factory=list)  # of each epoch that was long enough to tell
    last_loss: float = 0.0  # mean over the last epoch


class NetworkGroup:
    """One network at one batch size on all variants."""

    def __init__(
        self,
        plan: TrainingPlan,
        name: str,
        batch: int,
        images: ImageSet,
        devices: dict[str, Device],
        meters: dict[str, energy.Meter],
        control: Control,
        progress: TrainingProgress,
        faults: FaultHandler,
        finish: Callable[[Outcome], None],
    ) -> None:
        self._plan, self._network, self._batch, self._images = plan, NETWORKS[name], batch, images
        self._devices, self._meters, self._control, self._progress = devices, meters, control, progress
        self._faults, self._finish = faults, finish
        self._weights = initial_weights(self._network, plan.seed)
        self._segment, self._per_epoch = 1, -(-plan.images // batch)  # batches: of a curve's point, of an epoch

    def measure(self) -> None:
        forget_compiled()
        running: dict[Variant, _Progress] = {}
        for variant in self._plan.variants_for(self._network.name, self._batch):
            if why := self._faults.why_not(variant.device):
                self._fail(self._cases(variant), why)
                continue
            self._attempt(
                self._cases(variant), lambda variant=variant: running.update({variant: self._prepare(variant)})
            )
        self._share_segments(list(running.values()))
        for epoch in range(self._plan.epochs):
            for variant in list(running):
                if not self._attempt(self._cases(variant), lambda p=running[variant], e=epoch: self._epoch(p, e)):
                    del running[variant]
        for variant in list(running):
            progress = running.pop(variant)  # the last reference, so that its memory goes before the next one's
            train, *others = self._cases(variant)
            for case, work in zip(others, (self._infer, self._single), strict=False):
                if case not in self._plan.skip:  # a run gone on with may have it, or have died of it
                    self._attempt((case,), lambda p=progress, work=work: work(p))
            self._attempt((train,), lambda p=progress: self._conclude(p))

    def _share_segments(self, running: list[_Progress]) -> None:
        """Losses are averaged over the same batches everywhere, so that the curves can lie on each other."""
        points = -(-self._per_epoch // POINTS)
        self._segment = max(1, min([points, *(progress.steps for progress in running)]))
        for progress in running:
            progress.steps -= progress.steps % self._segment

    def _prepare(self, variant: Variant) -> _Progress:
        """Warm up and take the phases apart on a copy; then make the network that will be trained."""
        from bench.machine.devices import fallback_flags

        device = self._devices[variant.device]
        sync = device.synchronize
        stage = because("stage_compiling_step") if variant.compiled else because("stage_first_step")
        self._progress.tell(self._cases(variant)[0], stage, 0.0, 0.0)
        copy = self._learner(variant)
        batch, *_, last = (*self._order(0),) * 2
        with self._control.timed():
            with surely_compiled(variant.compiled), fallback_flags() as flags:
                first = clock.time_block(lambda: copy.step(batch), sync)
            if len(last) < len(batch):  # its shape needs a compilation of its own
                copy.step(last)
            warm_ups = 1 if first.seconds > WARM_UPS * SLOW_STEP_S and not variant.compiled else WARM_UPS
            step_s = min(clock.time_block(lambda: copy.step(batch), sync, 2).per_step for _ in range(warm_ups))
            repeats = PHASE_STEPS if step_s < SLOW_STEP_S else 1
            phases = copy.phases(copy.step, batch, repeats)
        memory = self._memory(variant, partial(copy.step, batch))
        with self._control.timed():
            copy.net.eval()
            infer_first = clock.time_block(lambda: copy.infer(batch), sync)
            if len(last) < len(batch):
                copy.infer(last)
            infer_phases = copy.phases(copy.infer, batch, repeats)
        infer_memory = self._memory(variant, partial(copy.infer, batch))
        wanted = max(1, min(MOST_STEPS, round(BLOCK_S / step_s), self._per_epoch // FEWEST_BLOCKS))
        self._control.check()
        check = check_step(self._network, self._learner(variant), batch, fresh=True)
        return _Progress(
            variant,
            self._learner(variant),
            check,
            first.seconds,
            phases,
            memory,
            infer_first.seconds,
            infer_phases,
            infer_memory,
            wanted if step_s < SLOW_STEP_S else 1,
            flags,
        )

    def _epoch(self, progress: _Progress, epoch: int) -> None:
        import torch

        plan, trainer, device = self._plan, progress.trainer, progress.trainer.device
        case, batches = self._cases(progress.variant)[0], self._order(epoch)
        before, seconds, seen, losses, blocks = sum(progress.epochs_s), 0.0, 0, 0.0, 0
        trainer.wake(batches[0])  # it slept while another one had its turn
        read = self._meters[progress.variant.device].read
        used = read() if read else 0.0
        for part in _parts(batches, progress.steps):
            segments = [sum(map(len, some)) for some in _parts(part, self._segment)]
            totals = torch.zeros(len(segments), device=device.torch)
            work = partial(trainer.steps, part, totals, self._segment)
            block, images = self._timed_block(work, device, part)
            for total, count in zip(totals.tolist(), segments, strict=True):  # read outside the clock, once a block
                seen, losses, seconds = seen + count, losses + total, seconds + block * count / images
                self._progress.extend(case, epoch * plan.images + seen, total / count, before + seconds)
            blocks += 1
            progress.samples.append(block / images * self._batch)
            part_done = 0.9 * (epoch * plan.images + seen) / (plan.images * plan.epochs)
            stage = because("stage_epoch", epoch=epoch + 1, epochs=plan.epochs)
            self._progress.tell(case, stage, part_done, before + seconds, tuple(progress.samples))
        if read and seconds >= energy.SHORTEST_S:
            progress.energy_j.append(read() - used)
        progress.rounds.append(blocks)
        progress.epochs_s.append(seconds)
        progress.last_loss = losses / plan.images

    def _infer(self, progress: _Progress) -> None:
        """Inference over the training images, timed; then its answers are checked."""
        plan, trainer = self._plan, progress.trainer
        (training, case, *_), batches = self._cases(progress.variant), self._order(0)
        spent = sum(progress.epochs_s)
        samples, seconds, seen = [], 0.0, 0
        trainer.wake(batches[0])
        trainer.net.eval()
        for part in _parts(batches, 2 * progress.steps):
            block, images = self._timed_block(lambda p=part: trainer.infer_all(p), trainer.device, part)
            samples.append(block / images * self._batch)
            seconds, seen = seconds + block, seen + images
            part_done = 0.9 + 0.08 * seen / plan.images
            self._progress.tell(training, because("stage_inference"), part_done, spent + seconds, tuple(samples), case)
        learning = Learning(plan.images, self._images.label, (seconds,), progress.infer_phases)
        check = check_answers(self._network, trainer, batches[0])
        self._record(
            case,
            progress,
            progress.infer_first_call_s,
            2 * progress.steps,
            samples,
            [len(samples)],
            learning,
            check,
            progress.infer_memory,
        )

    def _single(self, progress: _Progress) -> None:
        """One image after the other, each waited for: the latency."""
        trainer, sync = progress.trainer, progress.trainer.device.synchronize
        training, _, case = self._cases(progress.variant)
        image = self._order(0)[0][:1]
        trainer.net.eval()
        self._progress.tell(training, because("stage_single"), 0.98, sum(progress.epochs_s), at=case)

        def one() -> None:
            trainer.infer(image)
            sync()

        samples, spent = [], 0.0
        with self._control.timed():
            first = clock.time_block(one, sync)
            warm = min(clock.time_block(one, sync).seconds for _ in range(WARM_UPS))
            phases = trainer.phases(trainer.infer, image, PHASE_STEPS)
        calls = max(1, int(SINGLES_S / SINGLES_BLOCKS / warm))
        while len(samples) < stats.FEWEST or (spent < SINGLES_S and len(samples) < SINGLES_BLOCKS):
            with self._control.timed():
                block = clock.time_block(one, sync, calls)
            samples.append(block.per_step)
            spent += block.seconds
        memory = self._memory(progress.variant, partial(trainer.infer, image))
        learning = Learning(calls * len(samples), self._images.label, (spent,), phases)
        check = check_answers(self._network, trainer, image)
        self._record(case, progress, first.seconds, calls, samples, [len(samples)], learning, check, memory)

    def _conclude(self, progress: _Progress) -> None:
        """The test, untimed; then one more step, checked, which spoils the weights: so it comes last."""
        plan, trainer = self._plan, progress.trainer
        case = self._cases(progress.variant)[0]
        curve = self._progress.curve(case)
        learning = Learning(
            plan.images,
            self._images.label,
            tuple(progress.epochs_s),
            progress.phases,
            tuple(zip(curve.images, curve.losses, strict=True)),
            progress.last_loss,
            trainer.accuracy(self._control.check),
            tuple(progress.energy_j),
        )
        trainer.net.train()
        after = check_trained(self._network, trainer, self._order(0)[:3])
        self._record(
            case,
            progress,
            progress.first_call_s,
            progress.steps,
            progress.samples,
            progress.rounds,
            learning,
            worse(progress.check, after),
            progress.memory,
        )

    def _memory(self, variant: Variant, work: Callable[[], object]) -> Memory | None:
        return None if variant.compiled else peak_memory(self._devices[variant.device], work)

    def _timed_block(self, work: Callable[[], object], device: Device, part: list[Tensor]) -> tuple[float, int]:
        """Wall seconds of the work, and how many images it was."""
        with self._control.timed():
            block = clock.time_block(work, device.synchronize)
        return block.seconds, sum(len(batch) for batch in part)

    def _record(
        self,
        case: Case,
        progress: _Progress,
        first_call_s,
        calls,
        samples,
        rounds,
        learning: Learning,
        check: Check,
        memory: Memory | None,
    ) -> None:
        status, reason = judge_spread(samples)
        if len(samples) < stats.FEWEST:
            few = because("few_blocks", n=len(samples))
            status, reason = NOISY, few
        if check.verdict == WRONG:
            status, reason = WRONG, check.reason
        flags = (*progress.flags, *([check.reason] if check.verdict == REDUCED else []))
        self._finish(
            Measurement(
                case,
                self._cost(case),
                status,
                reason,
                first_call_s,
                calls,
                tuple(samples),
                tuple(rounds),
                check=check,
                flags=flags,
                learning=learning,
                memory=memory,
            )
        )

    def _cost(self, case: Case) -> Cost:
        """Of a batch; backward counts as two forward passes, and reads and writes the weights and Adam's moments."""
        training, batch, width = case.workload.endswith("train"), case.size, WIDTHS[case.dtype]
        weights = self._network.parameters * (8 if training else 1)
        passes = 3 if training else 1
        return Cost(passes * self._network.forward_flops * batch, width * (weights + batch * 28 * 28), batch)

    def _learner(self, variant: Variant) -> Trainer:
        return Trainer(self._network, self._devices[variant.device], self._images, self._plan, self._weights, variant)

    def _order(self, epoch: int) -> tuple[Tensor, ...]:
        return order(self._plan, epoch).split(self._batch)

    def _cases(self, variant: Variant) -> tuple[Case, ...]:
        """Training, inference, and perhaps single images."""
        return self._plan.cases_of(self._network.name, self._batch, variant)

    def _attempt(self, cases: Sequence[Case], work: Callable[[], object]) -> bool:
        """Do the work; what the device cannot do ends these cases, and the others go on."""
        error = self._faults.fails(cases[0].device, work, cases[0].threads)
        if error:
            self._fail(cases, error)
        return not error

    def _fail(self, cases: Sequence[Case], error: Reason) -> None:
        for case in cases:
            if case not in self._plan.skip:
                self._finish(Failure(case, error))
        training = self._cases(cases[0].variant)[0]
        if training in cases:
            self._progress.drop(training)


def _parts(batches: tuple[Tensor, ...], steps: int) -> Iterator[list[Tensor]]:
    for i in range(0, len(batches), steps):
        yield list(batches[i : i + steps])
