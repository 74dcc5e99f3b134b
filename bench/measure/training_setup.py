"""What the variants of one network at one batch size share, and what each of them has to show for itself so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.machine import energy
from bench.machine.memory import peak_memory
from bench.measure import clock
from bench.measure.plans import TrainingPlan
from bench.measure.progress import TrainingProgress
from bench.measure.trainer import Trainer, order
from bench.records.case import Case, Variant
from bench.records.measurement import Check, Memory, Outcome
from bench.records.reason import Reason
from bench.workloads.contract import Network
from bench.workloads.datasets import ImageSet

if TYPE_CHECKING:
    from torch import Tensor

    from bench.machine.devices import Device
    from bench.measure.job import Control


@dataclass
class Setup:
    """One network at one batch size: what is trained, on what, and who hears of it."""

    plan: TrainingPlan
    network: Network
    batch: int  # images a step
    images: ImageSet
    devices: dict[str, Device]
    meters: dict[str, energy.Meter]
    control: Control
    progress: TrainingProgress
    finish: Callable[[Outcome], None]
    weights: dict[str, Tensor]  # that every variant starts from
    segment: int = 1  # batches of a point of the loss curve

    @property
    def per_epoch(self) -> int:
        """Batches of an epoch."""
        return -(-self.plan.images // self.batch)

    def trainer(self, variant: Variant) -> Trainer:
        """A new one, at the initial weights."""
        return Trainer(self.network, self.devices[variant.device], self.images, self.plan, self.weights, variant)

    def order(self, epoch: int) -> tuple[Tensor, ...]:
        """The batches of an epoch, as indices of images."""
        return order(self.plan, epoch).split(self.batch)

    def cases(self, variant: Variant) -> tuple[Case, ...]:
        """Training, inference, and perhaps single images."""
        return self.plan.cases_of(self.network.name, self.batch, variant)

    def memory(self, variant: Variant, work: Callable[[], object]) -> Memory | None:
        """Of one step; not of what is compiled, which must not be called under the counter."""
        return None if variant.compiled else peak_memory(self.devices[variant.device], work)

    def timed_block(self, work: Callable[[], object], device: Device, part: list[Tensor]) -> tuple[float, int]:
        """Wall seconds of the work, and how many images it was."""
        with self.control.timed():
            block = clock.time_block(work, device.synchronize)
        return block.seconds, sum(len(batch) for batch in part)


@dataclass
class VariantState:
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


def parts(batches: Sequence[Tensor], steps: int) -> Iterator[list[Tensor]]:
    """The batches, ``steps`` at a time."""
    for i in range(0, len(batches), steps):
        yield list(batches[i : i + steps])
