"""What a run produces. Immutable values only; raw samples are kept, every statistic is derived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from bench import stats
from bench.records.case import Case
from bench.records.cost import Cost
from bench.records.reason import Reason

BUSY, DOUBTFUL = 0.1, 0.25  # noise above which to doubt the machine, and the number

Status = Literal["converged", "noisy", "timed out", "wrong", "unverified", "impossible"]  # of a measurement
CheckVerdict = Literal["right", "reduced", "unverified", "wrong"]
CONVERGED: Final = "converged"
NOISY: Final = "noisy"
TIMED_OUT: Final = "timed out"
FAILED: Final = "failed"
WRONG: Final = "wrong"
UNVERIFIED: Final = "unverified"
IMPOSSIBLE: Final = "impossible"
RIGHT: Final = "right"
REDUCED: Final = "reduced"  # precision: named, not wrong
ALLOCATOR, TENSORS = "the device's allocator", "its tensors, counted"  # of Memory.basis
EVENTS_AGREE = 0.05  # wall clock and device events may differ by so much


@dataclass(frozen=True)
class Check:
    """What comparing with float64 found."""

    verdict: CheckVerdict  # RIGHT, REDUCED (precision, named but not wrong), UNVERIFIED or WRONG
    error: float | None  # the largest found, relative; None where it is no number
    limit: float | None  # the largest that the format explains
    reason: Reason | None = None  # unless RIGHT, or RIGHT only in part
    share: float = 1.0  # of the answer's elements, that were compared in full
    where: Reason | None = None  # what is wrong lies


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
    basis: str  # how the first was found: ALLOCATOR or TENSORS


@dataclass(frozen=True)
class Measurement:
    """A case that ran."""

    case: Case
    cost: Cost  # of one step
    status: Status  # CONVERGED, NOISY, TIMED_OUT, WRONG, UNVERIFIED or IMPOSSIBLE
    reason: Reason | None  # why it is not CONVERGED
    first_call_s: float  # includes lazy compilation and allocation; never part of a sample
    calls: int  # steps a sample
    samples_s: tuple[float, ...]  # wall seconds a step, in the order taken
    rounds: tuple[int, ...]  # how many of the samples each round took
    dispatch_s: tuple[float, ...] = ()  # seconds to queue a step, beside each sample
    events_s: tuple[float, ...] = ()  # seconds a step by the device's own events, one a round
    article_s: float | None = None  # seconds a step by the article's clock, where it was replayed
    disturbed: int = 0  # blocks measured again: a page asked to be drawn, or another program took the cores
    check: Check | None = None
    flags: tuple[Reason, ...] = ()  # further doubts
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
    error: Reason

    @property
    def status(self) -> str:
        return FAILED


Outcome = Measurement | Failure
