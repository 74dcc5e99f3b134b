"""What a run produces. Immutable values only; raw samples are kept, every statistic is derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bench import stats
from bench.cases import Case, Lane
from bench.environment import Environment
from bench.registry import NETWORKS, OPERATIONS, Cost
from bench.units import count
from bench.words import say

REFERENCE = "cpu"  # speed-ups are against it
BUSY, DOUBTFUL = 0.1, 0.25  # noise above which to doubt the machine, and the number

CONVERGED, NOISY, TIMED_OUT, FAILED = "converged", "noisy", "timed out", "failed"
WRONG, UNVERIFIED, IMPOSSIBLE = "wrong", "unverified", "impossible"
RIGHT, REDUCED = "right", "reduced"  # verdicts of a check, beside WRONG and UNVERIFIED
EVENTS_AGREE = 0.05  # wall clock and device events may differ by so much


def title_of(workload: str) -> str:
    """For people: "Matrix × vector", "Training ConvNet"; one that this version does not know by its key."""
    network, slash, mode = workload.partition("/")
    if not slash:
        return say(OPERATIONS[workload].title) if workload in OPERATIONS else workload
    title = NETWORKS[network].title if network in NETWORKS else network
    return (
        say("Training {network}", network=title) if mode == "train" else say("Inference with {network}", network=title)
    )


def sized(case: Case) -> str:
    """A workload and its size, for people: "Matrix × vector, 1 500"."""
    return f"{title_of(case.workload)}, {count(case.size)}"


@dataclass(frozen=True)
class Check:
    """What comparing with float64 found."""

    verdict: str  # RIGHT, REDUCED (precision, named but not wrong), UNVERIFIED or WRONG
    error: float | None  # the largest found, relative; None where it is no number
    limit: float | None  # the largest that the format explains
    text: str = ""  # a sentence, unless RIGHT


@dataclass(frozen=True)
class Learning:
    """What belongs to the training or inference of a network beside its samples."""

    images: int  # per epoch, or per pass
    data: str  # for people: which images
    epochs_s: tuple[float, ...]  # wall seconds of each epoch (each pass, for inference), device synchronised
    phases_s: Mapping[str, tuple[float, ...]]  # seconds a batch, each phase waited for, measured apart
    losses: tuple[tuple[int, float], ...] = ()  # (images seen so far, mean loss since the last entry)
    train_loss: float | None = None  # mean over the last epoch
    test_accuracy: float | None = None  # fraction of the test images
    energy_j: tuple[float, ...] = ()  # joules of each epoch that was long enough to tell, an estimate


@dataclass(frozen=True, slots=True)
class Memory:
    """What a step held at most, bytes."""

    used_bytes: int  # its tensors, weights and inputs among them
    pool_bytes: int  # taken from the system: by the device's allocator, or by the whole process for the CPU
    basis: str  # how the first was found, in words


@dataclass(frozen=True)
class Measurement:
    """A case that ran."""

    case: Case
    cost: Cost  # of one step
    status: str  # CONVERGED, NOISY, TIMED_OUT, WRONG, UNVERIFIED or IMPOSSIBLE
    reason: str  # why it is not CONVERGED, in words
    first_call_s: float  # includes lazy compilation and allocation; never part of a sample
    calls: int  # steps a sample
    samples_s: tuple[float, ...]  # wall seconds a step, in the order taken
    rounds: tuple[int, ...]  # how many of the samples each round took
    dispatch_s: tuple[float, ...] = ()  # seconds to queue a step, beside each sample
    events_s: tuple[float, ...] = ()  # seconds a step by the device's own events, one a round
    article_s: float | None = None  # seconds a step by the article's clock, where it was replayed
    disturbed: int = 0  # blocks measured again: a page asked to be drawn, or another program took the cores
    check: Check | None = None
    flags: tuple[str, ...] = ()  # further doubts, a sentence each
    learning: Learning | None = None
    memory: Memory | None = None  # None where it was not looked at

    @property
    def believed(self) -> bool:
        """May it be compared, ranked and talked about?"""
        return self.status not in (WRONG, IMPOSSIBLE)

    @cached_property
    def median_s(self) -> stats.Estimate:
        return stats.median(self.samples_s)

    @cached_property
    def by_round(self) -> tuple[tuple[float, ...], ...]:
        """The samples, round by round."""
        ends = np.cumsum(self.rounds)
        return tuple(self.samples_s[end - n : end] for end, n in zip(ends, self.rounds, strict=True))

    @property
    def items_per_s(self) -> stats.Estimate:
        return self.median_s.rate_of(self.cost.items)

    @property
    def flops_per_s(self) -> stats.Estimate:
        return self.median_s.rate_of(self.cost.flops)

    @property
    def bytes_per_s(self) -> stats.Estimate:
        return self.median_s.rate_of(self.cost.bytes_moved)

    def speedup_over(self, reference: Measurement) -> stats.Estimate:
        """The reference's time over this one's, from paired rounds; computed once, a run that grows asks again."""
        if id(reference) not in self._speedups:
            self._speedups[id(reference)] = reference, stats.ratio(reference.by_round, self.by_round)
        return self._speedups[id(reference)][1]

    @cached_property
    def _speedups(self) -> dict[int, tuple[Measurement, stats.Estimate]]:
        return {}  # by identity; the reference is kept, so that no other can have it

    @cached_property
    def noise(self) -> float:
        """Interquartile range over median; above BUSY the machine was probably busy."""
        return stats.iqr(self.samples_s) / self.median_s.value


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that could not run. A result like any other: shown, exported, never raised."""

    case: Case
    error: str  # one sentence

    @property
    def status(self) -> str:
        return FAILED


Outcome = Measurement | Failure


@dataclass(frozen=True)
class Run:
    """Everything needed to read the numbers later."""

    kind: str  # "sweep" or "training"
    environment: Environment
    settings: Mapping[str, object] = field(default_factory=dict)  # the plan, as plain values
    outcomes: tuple[Outcome, ...] = ()

    def with_outcomes(self, *outcomes: Outcome) -> Run:
        return replace(self, outcomes=(*self.outcomes, *outcomes))

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(o for o in self.outcomes if isinstance(o, Measurement))

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(o for o in self.outcomes if isinstance(o, Failure))

    @property
    def devices(self) -> tuple[str, ...]:
        """Those the run was planned for, in its order."""
        return tuple(self.environment.devices)

    @property
    def reference(self) -> str:
        """The device that the others are compared with: the CPU, or the first one."""
        return REFERENCE if REFERENCE in self.devices else next(iter(self.devices), REFERENCE)

    def label(self, device: str) -> str:
        return self.environment.label(device)

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """Devices in every way they were measured, the planned devices in their order."""
        order = {device: i for i, device in enumerate(self.devices)}
        found = dict.fromkeys(outcome.case.lane for outcome in self.outcomes)
        return tuple(sorted(found, key=lambda lane: order.get(lane.device, len(order))))

    @cached_property
    def reference_lane(self) -> Lane:
        """What the others are compared with: the reference device as it usually computes, else its first lane."""
        usual = Lane(self.reference)
        return next(
            (lane for lane in (usual, *self.lanes) if lane in self.lanes and lane.device == usual.device), usual
        )

    def name(self, lane: Lane) -> str:
        """For people: "CPU", or "CPU · float16 · 1 thread"."""
        return " · ".join([self.label(lane.device), *lane.settings])

    @cached_property
    def _batches(self) -> set[int]:
        return {outcome.case.size for outcome in self.outcomes if outcome.case.workload.endswith("/train")}

    def what(self, case: Case) -> str:
        """A case without its lane, for people: "1 500", or "Training ConvNet", with the batch where it matters."""
        if "/" not in case.workload:
            return count(case.size)
        name = title_of(case.workload)
        if self._batches <= {case.size}:
            return name
        return name + (say(", one image") if case.size == 1 else say(", batch {size}", size=count(case.size)))

    def named(self, case: Case) -> str:
        """The same where it stands alone: "Matrix × vector, 1 500"."""
        return self.what(case) if "/" in case.workload else sized(case)

    def in_full(self, case: Case) -> str:
        """With its lane, too: "Matrix × vector, 1 500 on MPS"."""
        return say("{what} on {lane}", what=self.named(case), lane=self.name(case.lane))

    @property
    def emulated(self) -> bool:
        """True if any device of the run only pretends to be what its name says."""
        return any(self.environment.is_emulated(device) for device in self.devices)

    def reference_of(self, outcome: Outcome) -> Measurement | None:
        """The same case on the reference; None if it was not measured, or is the outcome itself."""
        found = self._by_case.get(replace(outcome.case, **self.reference_lane._asdict()))
        return None if found is outcome else found

    @cached_property
    def _by_case(self) -> dict[Case, Measurement]:
        return {m.case: m for m in reversed(self.measurements)}  # of two, the first

    def speedup(self, outcome: Outcome) -> stats.Estimate | None:
        """How many times faster than the CPU.

        None where there is nothing to compare, where one of the two is wrong, or has a single sample: nobody
        knows how sure that is.
        """
        reference = self.reference_of(outcome)
        if reference is None or not isinstance(outcome, Measurement) or not (reference.believed and outcome.believed):
            return None
        if min(len(reference.samples_s), len(outcome.samples_s)) < 2:
            return None
        return outcome.speedup_over(reference)
