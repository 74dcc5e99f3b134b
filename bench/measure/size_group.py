"""One operation at one size: the devices alternate over rounds.

Each round visits the devices in a seeded random order, so that heat, drift and idle power states
favour none. A visit begins with an untimed block that wakes the device, and has no pause between
its samples. Blocks into which a request of the page fell are measured again. What each device
computes is compared with float64 on the very tensors that are timed, before and after.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bench.machine.ceilings import Ceiling
from bench.machine.memory import peak_memory
from bench.measure import clock
from bench.measure.compiling import autocast, compiled, forget_compiled, surely_compiled
from bench.measure.faults import FaultHandler
from bench.measure.plans import SweepPlan
from bench.measure.progress import SweepProgress
from bench.measure.sampler import Sampler
from bench.measure.verification.case import Outline, Verifier
from bench.measure.verification.judge import Judge
from bench.records.case import Case, kind_of
from bench.records.formats import CHANNELS_LAST, WIDTHS, stored
from bench.records.measurement import Failure, Outcome
from bench.records.reason import Reason, because
from bench.workloads.inputs import draw_from
from bench.workloads.operations import OPERATIONS

if TYPE_CHECKING:
    from torch import Tensor

    from bench.machine.devices import Device
    from bench.measure.job import Control

    Function = Callable[..., Tensor]  # of an operation
    Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class SweepSetup:
    """What all sizes of a sweep share: what is measured, on what, and who hears of it."""

    plan: SweepPlan
    devices: dict[str, Device]
    ceilings: dict[str, Ceiling]  # by device
    control: Control
    progress: SweepProgress
    faults: FaultHandler
    finish: Callable[[Outcome], None]


class SizeGroup:
    """All devices at one size, in every way that the plan asks for."""

    def __init__(self, setup: SweepSetup, size: int) -> None:
        self._setup, self._size = setup, size
        self._operation, self._budget = OPERATIONS[setup.plan.operation], setup.plan.budget
        self._cases = setup.plan.group(size)
        self._judges: dict[str, Judge] = {}  # by dtype

    def measure(self) -> None:
        """Finishes every case of the size, as a measurement or a failure."""
        samplers = self._prepared()
        self._visit_in_turn(samplers)
        while samplers:
            self._attempt_to_conclude(samplers.pop(0))  # the last reference: its memory goes before the next one's
        self._judges.clear()
        forget_compiled()
        self._setup.faults.release()

    def _prepared(self) -> list[Sampler]:
        """Those cases whose first calls a device can do."""
        samplers: list[Sampler] = []
        for case, function, inputs in self._drawn():
            if why := self._setup.faults.why_not(case.device):
                self._setup.finish(Failure(case, why))
            else:
                self._attempt(case, partial(self._begin, case, function, inputs, samplers))
        return samplers

    def _drawn(self) -> list[tuple[Case, Function, Inputs]]:
        """Of each case what is called with what, on the CPU; nothing if that fails, which ends all cases."""
        drawn: dict[str, tuple[Function, Inputs]] = {}
        self._say(self._cases[0], because("stage_inputs"))
        if not self._attempt(None, partial(self._draw, drawn)):
            return []
        return [(case, *drawn[case.dtype]) for case in self._cases]

    def _draw(self, drawn: dict[str, tuple[Function, Inputs]]) -> None:
        """Function and inputs, by dtype, with the judge of each."""
        import torch

        function, inputs = self._operation.build(draw_from(self._setup.plan.seed), self._size)
        for dtype in self._setup.plan.dtypes:
            wanted = getattr(torch, stored(dtype))
            cast = tuple(t.to(wanted) if t.is_floating_point() else t for t in inputs)
            self._judges[dtype] = Judge(self._operation, self._size, cast, dtype)
            drawn[dtype] = function, cast

    def _begin(self, case: Case, function: Function, inputs: Inputs, samplers: list[Sampler]) -> None:
        """The first call, how many calls make a block, warm-up, the first check, and memory."""
        from bench.machine.devices import fallback_flags

        control, budget, calls = self._setup.control, self._budget, 1
        device = self._setup.devices[case.device]
        self._say(case, because("stage_compiling_call") if case.compiled else because("stage_first_call"))
        step = self._step(case, function, inputs)
        answers: list[Tensor] = []
        with control.timed():
            with surely_compiled(case.compiled), fallback_flags() as flags:
                first = clock.time_block(lambda: answers.append(step()), device.synchronize)
            outline = Outline.of(answers.pop())
            quick = first.seconds < budget.limit_s / 4
            if quick:
                began = clock.now()
                calls = clock.choose_calls(step, device.synchronize, budget.min_block_s)
                if clock.now() - began < budget.warmup_s:  # the step that is checked warms up for longer ones
                    clock.warm_up(step, device.synchronize, calls, budget.target, budget.warmup_s)
        cost = self._operation.cost(self._size, WIDTHS[case.dtype])
        verifier = Verifier(self._judges[case.dtype], step, outline)
        sampler = Sampler(case, device, step, cost, first.per_step, calls, verifier, flags=flags)
        control.check()
        verifier.first()
        if quick and not case.compiled:
            sampler.memory = peak_memory(device, step)
        samplers.append(sampler)

    def _step(self, case: Case, function: Function, inputs: Inputs) -> Callable[[], Tensor]:
        """What is timed: the function, perhaps compiled, on inputs that lie where the operation wants them."""
        import torch

        device = self._setup.devices[case.device]
        if case.layout == CHANNELS_LAST:
            inputs = tuple(t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in inputs)
        if case.compiled:
            function = compiled(function)
        if self._operation.inputs_on == "host":
            return partial(function, *inputs, device=device.torch)
        return partial(function, *(tensor.to(device.torch) for tensor in inputs))

    def _visit_in_turn(self, samplers: list[Sampler]) -> None:
        """Round by round until each may end; one whose device can't go on leaves ``samplers``."""
        order = random.Random(f"{self._setup.plan.seed} {self._size}")
        rounds = 0
        while samplers and not all(sampler.verdict(self._budget) for sampler in samplers):
            rounds += 1
            for sampler in order.sample(samplers, len(samplers)):
                if not self._attempt(sampler.case, partial(self._visit, sampler, rounds)):
                    samplers.remove(sampler)

    def _visit(self, sampler: Sampler, number: int) -> None:
        part = (number - 1) / (1.3 * self._budget.min_rounds)
        self._say(sampler.case, because("stage_round", number=number), sampler.samples, min(part, 0.95))
        sampler.visit(self._budget, self._setup.control)

    def _attempt_to_conclude(self, sampler: Sampler) -> None:
        self._attempt(sampler.case, partial(self._conclude, sampler))

    def _conclude(self, sampler: Sampler) -> None:
        self._say(sampler.case, because("stage_checking"), sampler.samples, 0.97)  # a crash here is this case's
        sampler.verifier.last(sampler.step_s, sampler.spent_s)
        self._setup.finish(sampler.measurement(self._budget, self._setup.ceilings[sampler.case.device]))

    def _attempt(self, case: Case | None, work: Callable[[], object]) -> bool:
        """Do the work; what the device cannot do becomes a failure of the case (of every case, if None)."""

        def as_the_case_says() -> None:
            with autocast(kind_of(case.device), case.dtype) if case else nullcontext():
                work()

        device, threads = (case.device, case.threads) if case else (None, 0)
        error = self._setup.faults.fails(device, as_the_case_says, threads)
        if error:
            for one in (case,) if case else self._cases:
                self._setup.finish(Failure(one, error))
        return not error

    def _say(self, case: Case, stage: Reason, samples: tuple[float, ...] = (), part: float = 0.0) -> None:
        so_far = self._setup.progress.so_far(self._size, part)
        self._setup.control.publish(current=case, stage=stage, samples_s=samples, **so_far)
