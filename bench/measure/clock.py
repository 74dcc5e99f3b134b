"""The only place where a clock is read.

A *sample* is the mean time of ``calls`` back-to-back steps between two synchronisations, in
seconds per step. ``calls`` is chosen so that a block lasts long enough for the clock, and for the
cost of synchronising, to be negligible.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bench.records.reason import DeviceRefused

process_seconds: Callable[[], float] = time.process_time  # CPU seconds of all threads; only the replay asks it
now: Callable[[], float] = time.perf_counter  # seconds; everything else in bench asks this one
Synchronize = Callable[[], None]
T = TypeVar("T")
EMPTY_CALLS, EMPTY_BLOCKS = 200, 5
STEADY_S = 0.01  # a stretch of warm-up, seconds


@dataclass(frozen=True, slots=True)
class Block:
    """Clock readings around ``calls`` steps, in seconds."""

    start: float
    queued: float  # the last step has returned; an accelerator may still be at work
    end: float  # the device has finished
    calls: int

    @property
    def seconds(self) -> float:
        """Wall time of the whole block."""
        return self.end - self.start

    @property
    def per_step(self) -> float:
        """Wall time of one step: a sample."""
        return self.seconds / self.calls

    @property
    def dispatch_per_step(self) -> float:
        """Time the host needed to queue one step; what an unsynchronised clock shows."""
        return (self.queued - self.start) / self.calls


class ClockError(DeviceRefused):
    """The clock is no clock."""


def time_block(
    step: Callable[[], T], synchronize: Synchronize, calls: int = 1, answers: list[T] | None = None
) -> Block:
    """Time ``calls`` steps, waiting for the device once before and once after; ``answers`` gets the last one's."""
    synchronize()
    start = now()
    for _ in range(calls - 1):
        step()
    answer = step()
    queued = now()
    synchronize()
    end = now()
    if not start <= queued <= end:
        raise ClockError("clock_went_backwards")
    if answers is not None:
        answers.append(answer)
    return Block(start, queued, end, calls)


def empty_call_s() -> float:
    """Seconds of a call that does nothing: the quickest of a few blocks."""
    return min(time_block(_nothing, _nothing, EMPTY_CALLS).per_step for _ in range(EMPTY_BLOCKS))


def _nothing() -> None:
    pass


def time_both(work: Callable[[], object], synchronize: Synchronize) -> tuple[float, float]:
    """Wall seconds until the device has finished, and the CPU seconds of all threads until ``work`` returned.

    The second is what the article measured.
    """
    start, cpu = now(), process_seconds()
    work()
    cpu = process_seconds() - cpu
    synchronize()
    return now() - start, cpu


def choose_calls(step: Callable[[], object], synchronize: Synchronize, min_block_s: float) -> int:
    """The fewest steps whose block lasts at least ``min_block_s`` seconds, found by trying."""
    calls = 1
    while (block := time_block(step, synchronize, calls)).seconds < min_block_s:
        wanted = round(1.2 * calls * min_block_s / max(block.seconds, 1e-9))
        calls = max(calls + 1, min(10 * calls, wanted))
    return calls


def warm_up(
    step: Callable[[], object], synchronize: Synchronize, calls: int, tolerance: float, longest_s: float
) -> None:
    """Run until the medians of three stretches in a row agree within ``tolerance``, or for ``longest_s`` seconds.

    A device raises its clock over the first tenths of a second; how many depends on the device.
    """
    began = now()
    recent: list[float] = []
    while now() - began < longest_s:
        stretch = now()
        times: list[float] = []
        while not times or now() - stretch < STEADY_S:
            times.append(time_block(step, synchronize, calls).per_step)
        recent = [*recent[-2:], sorted(times)[len(times) // 2]]
        if len(recent) == 3 and max(recent) <= (1 + tolerance) * min(recent):
            return


class Stopwatch:
    """Adds up what happens between ``lap`` calls, under names: ``lap("copy")`` ends the stretch it names."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = now()

    def lap(self, name: str) -> None:
        at = now()
        self.laps[name] = self.laps.get(name, 0.0) + at - self._last
        self._last = at
