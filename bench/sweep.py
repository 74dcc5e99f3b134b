"""Measures one operation over sizes: the devices of a size alternate over rounds.

Each round visits the devices in a seeded random order, so that heat, drift and idle power states
favour none. A visit begins with an untimed block that wakes the device, and has no pause between
its samples. Blocks into which a request of the page fell are measured again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from bench import stats, timing
from bench.cases import Budget, Case, SweepPlan
from bench.environment import capture_environment
from bench.estimate import group_seconds, sweep_outlook
from bench.registry import OPERATIONS, Cost
from bench.results import CONVERGED, NOISY, TIMED_OUT, Failure, Measurement, Outcome, Run

if TYPE_CHECKING:
    from torch import Tensor

    from bench.devices import Device
    from bench.runner import Control

LONG_STEP_S = 0.2  # a step that long needs no waking before it


def measure(plan: SweepPlan, control: Control) -> None:
    """Run the plan, publishing the growing run. Sizes that would not fit end as failures."""
    from bench.devices import Device

    devices = {name: Device(name) for name in plan.devices}
    outlook = sweep_outlook(plan, control.devices)
    hardware = {name: control.devices[name].hardware for name in plan.devices}
    run = Run("sweep", capture_environment(hardware), _settings(plan))
    expected = {n: group_seconds(plan, n, control.devices) for n in plan.sizes if n not in outlook.left_out}
    pace = Pace(expected)
    control.publish(run=run)
    for n in plan.sizes:
        if n in outlook.left_out:
            outcomes = [Failure(case, f"Not tried: it {outlook.left_out[n]}.") for case in plan.group(n)]
        else:
            outcomes = _Group(plan, n, devices, control, pace).measure()
            pace.finish(n)
        run = run.with_outcomes(*outcomes)
        control.publish(run=run, current=None, samples_s=())


class Pace:
    """How far the run is and how long it still takes: the plan's guess, corrected by what was seen."""

    def __init__(self, expected: dict[int, float]) -> None:
        self._left = dict(expected)
        self._total = sum(expected.values()) or 1.0
        self._began = timing.clock()

    def finish(self, n: int) -> None:
        self._left.pop(n)

    def progress(self, n: int, part: float) -> dict[str, float]:
        """``part`` of size ``n`` is done, from 0 to 1: the snapshot's ``done`` and ``left_s``."""
        left = sum(self._left.values()) - part * self._left[n]
        done = self._total - left
        elapsed = timing.clock() - self._began
        correction = (elapsed + 1.0) / (done + 1.0)  # one second's worth of belief in the guess
        return {"done": min(done / self._total, 1.0), "left_s": left * correction}


@dataclass
class _Subject:
    """One case being measured."""

    case: Case
    device: Device
    step: Callable[[], Tensor]
    cost: Cost
    first_call_s: float
    calls: int
    blocks: list[list[timing.Block]] = field(default_factory=list)  # round by round
    disturbed: int = 0
    spent_s: float = 0.0

    @property
    def samples(self) -> tuple[float, ...]:
        return tuple(block.per_step for a_round in self.blocks for block in a_round)

    def verdict(self, budget: Budget) -> tuple[str, str] | None:
        """Status and unmet condition once the case may end; None while it should go on."""
        samples, rounds = self.samples, len(self.blocks)
        enough = len(samples) >= budget.min_samples
        width = stats.median(samples).relative_half_width if enough else float("inf")
        if enough and rounds >= budget.min_rounds and width <= budget.target:
            return CONVERGED, ""
        unmet = (
            f"the interval is ±{width:.1%} of the median, wanted ±{budget.target:.0%}"
            if enough
            else f"only {len(samples)} of the wanted {budget.min_samples} samples"
        )
        if self.spent_s >= budget.limit_s:
            if enough and rounds < budget.min_rounds and width <= budget.target:
                unmet = f"only {rounds} of the wanted {budget.min_rounds} rounds"
            return TIMED_OUT, f"After {budget.limit_s:.0f} s {unmet}."
        if enough and rounds >= budget.max_rounds:
            return NOISY, f"After {rounds} rounds {unmet}."
        return None

    def measurement(self, status: str, reason: str) -> Measurement:
        blocks = [block for a_round in self.blocks for block in a_round]
        return Measurement(
            self.case, self.cost, status, reason, self.first_call_s, self.calls, self.samples,
            rounds=tuple(len(a_round) for a_round in self.blocks),
            dispatch_s=tuple(block.dispatch_per_step for block in blocks),
            disturbed=self.disturbed,
        )  # fmt: skip


class _Group:
    """All devices at one size."""

    def __init__(self, plan: SweepPlan, n: int, devices: dict[str, Device], control: Control, pace: Pace) -> None:
        self._plan, self._n, self._devices, self._control, self._pace = plan, n, devices, control, pace
        self._operation, self._budget = OPERATIONS[plan.operation], plan.budget
        self._outcomes: dict[Case, Outcome] = {}

    def measure(self) -> list[Outcome]:
        subjects = self._prepare()
        order = random.Random(f"{self._plan.seed} {self._n}")
        rounds = 0
        while subjects and not all(s.verdict(self._budget) for s in subjects):
            rounds += 1
            for subject in order.sample(subjects, len(subjects)):
                if not self._attempt(subject.case, lambda s=subject, r=rounds: self._visit(s, r)):
                    subjects.remove(subject)
        for subject in subjects:
            self._outcomes[subject.case] = subject.measurement(*subject.verdict(self._budget))
        cases = self._plan.group(self._n)
        subjects.clear()
        self._release()
        return [self._outcomes[case] for case in cases]

    def _prepare(self) -> list[_Subject]:
        from bench.data import draw_from

        subjects: list[_Subject] = []
        built: list = []
        first = self._plan.group(self._n)[0]
        self._say(first, "making inputs")
        if not self._attempt(None, lambda: built.append(self._operation.build(draw_from(self._plan.seed), self._n))):
            return subjects
        function, inputs = built.pop()
        for case in self._plan.group(self._n):
            self._attempt(case, lambda case=case: subjects.append(self._subject(case, function, inputs)))
        return subjects

    def _subject(self, case: Case, function, inputs: tuple[Tensor, ...]) -> _Subject:
        device = self._devices[case.device]
        self._say(case, "first call and warm-up")
        here = tuple(tensor.to(device.torch) for tensor in inputs)

        def step() -> Tensor:
            return function(*here)

        with self._control.timed():
            began = timing.clock()
            first = timing.time_block(step, device.synchronize)
            if first.seconds >= self._budget.limit_s / 2:
                calls = 1
            else:
                calls = timing.choose_calls(step, device.synchronize, self._budget.min_block_s)
                while timing.clock() - began < self._budget.warmup_s:
                    timing.time_block(step, device.synchronize, calls)
        return _Subject(case, device, step, self._operation.cost(self._n), first.per_step, calls)

    def _visit(self, subject: _Subject, number: int) -> None:
        """One round of one device."""
        part = max(number - 1, 0) / (1.3 * self._budget.min_rounds)
        self._say(subject.case, f"round {number}", subject.samples, min(part, 0.95))
        sync, budget, taken, spent = subject.device.synchronize, self._budget, [], 0.0
        began = timing.clock()
        with self._control.timed():
            if subject.first_call_s < LONG_STEP_S:
                timing.time_block(subject.step, sync, subject.calls)
            while spent < budget.round_s:
                self._control.check()
                block = timing.time_block(subject.step, sync, subject.calls)
                spent += block.seconds
                taken.append(block)
            kept = [b for b in taken if not self._control.gate.disturbed(b.start, b.end)]
            if not kept:  # one long block, and a page asked in the middle of it
                kept = taken
        subject.disturbed += len(taken) - len(kept)
        subject.blocks.append(kept)
        subject.spent_s += timing.clock() - began

    def _attempt(self, case: Case | None, work: Callable[[], object]) -> bool:
        """Do the work; what the device cannot do becomes a failure of the case (of every case, if None)."""
        from bench.devices import DEVICE_ERRORS, one_line

        try:
            work()
            return True
        except DEVICE_ERRORS as error:
            failed = self._plan.group(self._n) if case is None else (case,)
            for one in failed:
                self._outcomes[one] = Failure(one, one_line(error))
        self._release()  # outside the handler: the exception held the tensors
        return False

    def _release(self) -> None:
        for device in self._devices.values():
            device.release_memory()

    def _say(self, case: Case, stage: str, samples: tuple[float, ...] = (), part: float = 0.0) -> None:
        progress = self._pace.progress(self._n, part)
        self._control.publish(current=case, stage=stage, samples_s=samples, **progress)


def _settings(plan: SweepPlan) -> dict[str, object]:
    """The plan as plain values, for the file."""
    return asdict(replace(plan, sizes=tuple(plan.sizes)))
