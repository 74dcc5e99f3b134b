"""Measures one operation over sizes: the devices of a size alternate over rounds.

Each round visits the devices in a seeded random order, so that heat, drift and idle power states
favour none. A visit begins with an untimed block that wakes the device, and has no pause between
its samples. Blocks into which a request of the page fell are measured again. What each device
computes is compared with float64 on the very tensors that are timed, before and after.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from bench.machine import ceilings
from bench.machine.environment import capture_environment
from bench.machine.memory import peak_memory
from bench.measure import clock
from bench.measure.compiling import autocast, compiled, forget_compiled, surely_compiled
from bench.measure.faults import FaultHandler
from bench.measure.forecast import group_seconds, sweep_forecast
from bench.measure.job import GrowingRun
from bench.measure.plans import SweepPlan
from bench.measure.progress import SweepProgress
from bench.measure.sampler import Sampler
from bench.records.case import Case, kind_of
from bench.records.formats import CHANNELS_LAST, WIDTHS, stored
from bench.records.measurement import Failure, Outcome
from bench.records.reason import Reason, because
from bench.records.run import Run
from bench.workloads.operations import OPERATIONS

if TYPE_CHECKING:
    from torch import Tensor

    from bench.machine.devices import Device
    from bench.measure.job import Control
    from bench.measure.verify import Judge


def measure(plan: SweepPlan, control: Control, before: Sequence[Outcome] = ()) -> None:
    """Run the plan, publishing the growing run. Sizes that would not fit end as failures.

    ``before`` are outcomes of an earlier part of the same run, which the plan skips.
    """
    from bench.machine.devices import Device

    devices = {name: Device(name) for name in plan.devices}
    here = control.devices | {name: control.devices[kind_of(name)] for name in plan.devices}
    forecast = sweep_forecast(plan, here)
    hardware = {name: here[name].hardware for name in plan.devices}
    kind = "sweep" if all(name == kind_of(name) for name in plan.devices) else "aa"
    copied = {name: here[name].bytes_per_s for name in plan.devices}
    settings = asdict(plan) | {"copy_bytes_per_s": copied}
    run = Run(kind, capture_environment(hardware), settings, tuple(before))
    progress = SweepProgress(
        {n: group_seconds(plan, n, here) for n in filter(plan.group, plan.sizes) if n not in forecast.left_out}
    )
    tops = {name: ceilings.ceiling(run.environment, name, here[name].bytes_per_s) for name in plan.devices}
    finish = GrowingRun(run, control).add
    faults = FaultHandler(devices, control)
    for n in filter(plan.group, plan.sizes):
        if n in forecast.left_out:
            for case in plan.group(n):
                finish(Failure(case, because("does_not_fit", reason=forecast.left_out[n])))
        else:
            _Group(plan, n, devices, tops, control, progress, faults, finish).measure()
            progress.finish(n)
        control.publish(current=None, samples_s=())


class _Group:
    """All devices at one size."""

    def __init__(
        self,
        plan: SweepPlan,
        n: int,
        devices: dict[str, Device],
        ceilings: dict[str, ceilings.Ceiling],
        control: Control,
        progress: SweepProgress,
        faults: FaultHandler,
        finish: Callable[[Outcome], None],
    ) -> None:
        self._plan, self._n, self._devices, self._ceilings = plan, n, devices, ceilings
        self._control, self._progress, self._faults, self._finish = control, progress, faults, finish
        self._operation, self._budget = OPERATIONS[plan.operation], plan.budget
        self._judges: dict[str, Judge] = {}

    def measure(self) -> None:
        samplers = self._prepare()
        order = random.Random(f"{self._plan.seed} {self._n}")
        rounds = 0
        while samplers and not all(s.verdict(self._budget) for s in samplers):
            rounds += 1
            for sampler in order.sample(samplers, len(samplers)):
                if not self._attempt(sampler.case, partial(self._visit, sampler, rounds)):
                    samplers.remove(sampler)
        while samplers:
            sampler = samplers.pop(0)
            self._attempt(sampler.case, partial(self._conclude, sampler))
            del sampler
        self._judges.clear()
        forget_compiled()
        self._faults.release()

    def _prepare(self) -> list[Sampler]:
        import torch

        from bench.measure.verify import Judge
        from bench.workloads.inputs import draw_from

        samplers: list[Sampler] = []
        built: list[tuple[str, tuple[Callable[..., Tensor], tuple[Tensor, ...]]]] = []

        def build() -> None:
            function, inputs = self._operation.build(draw_from(self._plan.seed), self._n)
            for dtype in self._plan.dtypes:
                wanted = getattr(torch, stored(dtype))
                cast = tuple(t.to(wanted) if t.is_floating_point() else t for t in inputs)
                self._judges[dtype] = Judge(self._operation, self._n, function, cast, dtype)
                built.append((dtype, (function, cast)))

        self._say(self._plan.group(self._n)[0], because("stage_inputs"))
        if not self._attempt(None, build):
            return samplers
        ready = dict(built)
        built.clear()
        for case in self._plan.group(self._n):
            if why := self._faults.why_not(case.device):
                self._finish(Failure(case, why))
                continue
            self._attempt(case, partial(self._begin, case, *ready[case.dtype], samplers))
        return samplers

    def _begin(
        self, case: Case, function: Callable[..., Tensor], inputs: tuple[Tensor, ...], samplers: list[Sampler]
    ) -> None:
        samplers.append(self._sampler(case, function, inputs))

    def _sampler(self, case: Case, function: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> Sampler:
        import torch

        from bench.machine.devices import fallback_flags
        from bench.measure.verify import Outline

        device = self._devices[case.device]
        self._say(case, because("stage_compiling_call") if case.compiled else because("stage_first_call"))
        answers: list[Tensor] = []
        if case.layout == CHANNELS_LAST:
            inputs = tuple(t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in inputs)
        if case.compiled:
            function = compiled(function)
        if self._operation.inputs_on == "host":
            step = partial(function, *inputs, device=device.torch)
        else:
            step = partial(function, *(tensor.to(device.torch) for tensor in inputs))

        sync, budget, calls = device.synchronize, self._budget, 1
        with self._control.timed():
            with surely_compiled(case.compiled), fallback_flags() as flags:
                first = clock.time_block(lambda: answers.append(step()), sync)
            outline = Outline.of(answers.pop())
            if first.seconds < budget.limit_s / 4:
                calls = clock.choose_calls(step, sync, budget.min_block_s)
                clock.warm_up(step, sync, calls, budget.target, budget.warmup_s)
        cost = self._operation.cost(self._n, WIDTHS[case.dtype])
        sampler = Sampler(case, device, step, cost, first.per_step, calls, outline, flags=flags)
        self._control.check()
        sampler.check = self._judges[case.dtype].check(step, sampler.outline)
        if first.seconds < budget.limit_s / 4 and not case.compiled:
            sampler.memory = peak_memory(device, step)
        return sampler

    def _visit(self, sampler: Sampler, number: int) -> None:
        part = (number - 1) / (1.3 * self._budget.min_rounds)
        self._say(sampler.case, because("stage_round", number=number), sampler.samples, min(part, 0.95))
        sampler.visit(self._budget, self._control)

    def _conclude(self, sampler: Sampler) -> None:
        from bench.measure.verify import worse

        self._say(sampler.case, because("stage_checking"), sampler.samples, 0.97)  # a crash here is this case's
        after = self._judges[sampler.case.dtype].check(sampler.step, sampler.outline)
        sampler.check = worse(sampler.check, after) if sampler.check else after
        ceiling = self._ceilings[sampler.case.device]
        self._finish(sampler.measurement(self._budget, ceiling))

    def _attempt(self, case: Case | None, work: Callable[[], object]) -> bool:
        """Do the work; what the device cannot do becomes a failure of the case (of every case, if None)."""

        def as_the_case_says() -> None:
            with autocast(kind_of(case.device), case.dtype) if case else nullcontext():
                work()

        error = self._faults.fails(case.device if case else None, as_the_case_says, case.threads if case else 0)
        if error:
            for one in self._plan.group(self._n) if case is None else (case,):
                self._finish(Failure(one, error))
        return not error

    def _say(self, case: Case, stage: Reason, samples: tuple[float, ...] = (), part: float = 0.0) -> None:
        so_far = self._progress.so_far(self._n, part)
        self._control.publish(current=case, stage=stage, samples_s=samples, **so_far)
