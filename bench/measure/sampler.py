"""One case while it is measured: its blocks, when it may end, and what comes of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench import stats
from bench.machine import ceilings
from bench.machine.load import COUNTED_THREADS
from bench.measure import clock, plausibility
from bench.records.budget import Budget
from bench.records.case import Case
from bench.records.cost import Cost
from bench.records.measurement import (
    CONVERGED,
    EVENTS_AGREE,
    IMPOSSIBLE,
    NOISY,
    REDUCED,
    TIMED_OUT,
    UNVERIFIED,
    WRONG,
    Measurement,
    Memory,
    Status,
)
from bench.records.reason import Quantity, Reason, because

if TYPE_CHECKING:
    from torch import Tensor

    from bench.machine.devices import Device
    from bench.measure.job import Control
    from bench.measure.verification.case import Verifier

LONG_STEP_S = 0.2  # a step that long needs no waking before it
OTHERS_SHARE = 0.5  # of one core, taken by other programs during a round: then it is measured again
TICK_S = 0.02  # system times advance in ticks, each core's on its own: so far they may be off, times the root of cores
MOST_REPEATS = 0.5  # of the rounds; a machine that is never quiet is measured as it is, and said to be busy
COUNTABLE_S = 0.05  # shorter stretches can't be judged
TARGET = 0.05  # of the median's interval, where an epoch is as long as it is: it is only reported
PREEMPTED, PREEMPTED_PER_S = 2, 40  # times the core was taken away; seen in 50 ms: 0 to 2 quiet, 4 to 7 busy


@dataclass
class Sampler:
    """One case being measured."""

    case: Case
    device: Device
    step: Callable[[], Tensor]
    cost: Cost
    first_call_s: float
    calls: int
    verifier: Verifier  # of its answers
    memory: Memory | None = None
    flags: list[Reason] = field(default_factory=list)
    blocks: list[list[clock.Block]] = field(default_factory=list)  # round by round
    events_s: list[float] = field(default_factory=list)
    disturbed: int = 0
    repeats: int = 0  # rounds measured again because other programs were busy
    spent_s: float = 0.0

    @property
    def samples(self) -> tuple[float, ...]:
        return tuple(block.per_step for a_round in self.blocks for block in a_round)

    @property
    def step_s(self) -> float:
        """The median so far."""
        return stats.median(self.samples).value

    def visit(self, budget: Budget, control: Control) -> None:
        """One round: wake the device, then samples without a pause; again if something disturbed it."""
        began = clock.now()
        while True:
            with control.timed():
                gate, start = control.gate, clock.now()
                busy, preempted = gate.others_s(), gate.preempted()
                taken, events_s, answer = self._round(budget, control)
                busy, preempted = gate.others_s() - busy, gate.preempted() - preempted
                noisy = _noisy(clock.now() - start, busy, preempted)
                kept = [b for b in taken if not gate.disturbed(b.start, b.end)]
            self.disturbed += len(taken) - len(kept)
            late = clock.now() - began > budget.limit_s / 4
            if kept and (late or not noisy or self.repeats >= MOST_REPEATS * budget.min_rounds):
                break
            if late:  # long blocks, and a page asked during each
                kept = taken
                break
            if noisy:
                self.repeats += 1
                self.disturbed += len(kept)
        self.blocks.append(kept)
        self.events_s += events_s
        self.spent_s += clock.now() - began
        self.verifier.timed(answer, self.spent_s)

    def _round(self, budget: Budget, control: Control) -> tuple[list[clock.Block], list[float], Tensor]:
        """Its blocks, what the device's own clock says of one more, where it has one, and a timed block's answer."""
        answers: list[Tensor] = []
        sync, taken, spent = self.device.synchronize, [], 0.0
        if self.first_call_s < LONG_STEP_S:
            clock.time_block(self.step, sync, self.calls)
        while spent < budget.round_s:
            control.check()
            answers.clear()  # not while the next block is timed
            block = clock.time_block(self.step, sync, self.calls, answers)
            spent += block.seconds
            taken.append(block)
        seconds = self.device.seconds_by_events(self.step, self.calls)
        return taken, [] if seconds is None else [seconds], answers.pop()

    def verdict(self, budget: Budget) -> tuple[Status, Reason | None] | None:
        """Status and unmet condition once the case may end; None while it should go on."""
        samples, rounds = self.samples, len(self.blocks)
        enough = len(samples) >= budget.min_samples
        width = stats.median(samples).relative_half_width if enough else float("inf")
        if enough and rounds >= budget.min_rounds and width <= budget.target:
            return CONVERGED, None
        if enough:
            unmet = because("unmet_width", width=Quantity(width, "%"), target=Quantity(budget.target, "%"))
        else:
            unmet = because("unmet_samples", some=len(samples), all=budget.min_samples)
        if self.spent_s >= budget.limit_s:
            if enough and rounds < budget.min_rounds and width <= budget.target:
                unmet = because("unmet_rounds", some=rounds, all=budget.min_rounds)
            return TIMED_OUT, because("timed_out", limit=round(budget.limit_s), unmet=unmet)
        if enough and rounds >= budget.max_rounds:
            return NOISY, because("not_converged", rounds=rounds, unmet=unmet)
        return None

    def measurement(self, budget: Budget, ceiling: ceilings.Ceiling) -> Measurement:
        """What the blocks amount to; what can't be believed says so in its status."""
        status, reason = self.verdict(budget) or (TIMED_OUT, None)
        blocks = [block for a_round in self.blocks for block in a_round]
        rounds = [[block.per_step for block in a_round] for a_round in self.blocks]
        median = self.step_s
        check = self.verifier.check
        if check and check.verdict in (WRONG, UNVERIFIED):
            status, reason = check.verdict, check.reason
        elif too_good := plausibility.impossible(self.cost, median, ceiling):
            status, reason = IMPOSSIBLE, too_good
        caveats = [plausibility.drift(rounds), plausibility.clocks_disagree(median, self.events_s, EVENTS_AGREE)]
        if check and check.verdict == REDUCED:
            caveats.append(check.reason)
        caveats.append(plausibility.does_nothing(median, clock.empty_call_s()))
        if self.repeats >= MOST_REPEATS * budget.min_rounds:
            caveats.append(because("others_busy"))
        return Measurement(
            self.case,
            self.cost,
            status,
            reason,
            self.first_call_s,
            self.calls,
            self.samples,
            rounds=tuple(map(len, rounds)),
            dispatch_s=tuple(block.dispatch_per_step for block in blocks),
            events_s=tuple(self.events_s),
            disturbed=self.disturbed,
            check=check,
            flags=(*self.flags, *filter(None, caveats)),
            memory=self.memory,
        )


def _noisy(lasted: float, busy: float, preempted: int) -> bool:
    """Did other programs take part in a round of ``lasted`` seconds, by their CPU seconds or the cores they took?"""
    allowed = OTHERS_SHARE * lasted + TICK_S * (os.cpu_count() or 1) ** 0.5
    switches = COUNTED_THREADS * (PREEMPTED + PREEMPTED_PER_S * lasted)
    return lasted >= COUNTABLE_S and (busy > allowed or preempted > switches)


def judge_spread(samples: Sequence[float]) -> tuple[Status, Reason | None]:
    """Status and reason of samples whose number was not chosen: CONVERGED, or NOISY above TARGET."""
    width = stats.median(samples).relative_half_width
    if width <= TARGET:
        return CONVERGED, None
    return NOISY, because("wide_interval", width=Quantity(width, "%"), target=Quantity(TARGET, "%"))
