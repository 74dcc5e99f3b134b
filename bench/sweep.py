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

from bench import guards, timing
from bench.attempts import Attempts
from bench.cases import Case, kind_of
from bench.compiling import autocast, compiled, forget_compiled, surely_compiled
from bench.environment import capture_environment
from bench.estimate import Pace, group_seconds, sweep_outlook
from bench.memory import peak_memory
from bench.plans import SweepPlan
from bench.registry import CHANNELS_LAST, OPERATIONS, WIDTHS, stored
from bench.results import Failure, Outcome, Run
from bench.runner import GrowingRun
from bench.subject import Subject
from bench.words import noted

if TYPE_CHECKING:
    from torch import Tensor

    from bench.devices import Device
    from bench.runner import Control
    from bench.verify import Judge


def measure(plan: SweepPlan, control: Control, before: Sequence[Outcome] = ()) -> None:
    """Run the plan, publishing the growing run. Sizes that would not fit end as failures.

    ``before`` are outcomes of an earlier part of the same run, which the plan skips.
    """
    from bench.devices import Device

    devices = {name: Device(name) for name in plan.devices}
    here = control.devices | {name: control.devices[kind_of(name)] for name in plan.devices}
    outlook = sweep_outlook(plan, here)
    hardware = {name: here[name].hardware for name in plan.devices}
    kind = "sweep" if all(name == kind_of(name) for name in plan.devices) else "aa"
    copied = {name: here[name].bytes_per_s for name in plan.devices}
    settings = asdict(plan) | {"copy_bytes_per_s": copied}
    run = Run(kind, capture_environment(hardware), settings, tuple(before))
    pace = Pace({n: group_seconds(plan, n, here) for n in filter(plan.group, plan.sizes) if n not in outlook.left_out})
    ceilings = {name: guards.ceiling(run.environment, name, here[name].bytes_per_s) for name in plan.devices}
    finish = GrowingRun(run, control).add
    attempts = Attempts(devices, control)
    for n in filter(plan.group, plan.sizes):
        if n in outlook.left_out:
            for case in plan.group(n):
                finish(Failure(case, noted("Not tried: it {reason}.", reason=outlook.left_out[n])))
        else:
            _Group(plan, n, devices, ceilings, control, pace, attempts, finish).measure()
            pace.finish(n)
        control.publish(current=None, samples_s=())


class _Group:
    """All devices at one size."""

    def __init__(
        self, plan: SweepPlan, n: int, devices: dict[str, Device], ceilings: dict[str, guards.Ceiling],
        control: Control, pace: Pace, attempts: Attempts, finish: Callable[[Outcome], None],
    ) -> None:  # fmt: skip
        self._plan, self._n, self._devices, self._ceilings = plan, n, devices, ceilings
        self._control, self._pace, self._attempts, self._finish = control, pace, attempts, finish
        self._operation, self._budget = OPERATIONS[plan.operation], plan.budget
        self._judges: dict[str, Judge] = {}

    def measure(self) -> None:
        subjects = self._prepare()
        order = random.Random(f"{self._plan.seed} {self._n}")
        rounds = 0
        while subjects and not all(s.verdict(self._budget) for s in subjects):
            rounds += 1
            for subject in order.sample(subjects, len(subjects)):
                if not self._attempt(subject.case, lambda s=subject, r=rounds: self._visit(s, r)):
                    subjects.remove(subject)
        while subjects:
            subject = subjects.pop(0)
            self._attempt(subject.case, lambda s=subject: self._conclude(s))
            del subject
        self._judges.clear()
        forget_compiled()
        self._attempts.release()

    def _prepare(self) -> list[Subject]:
        import torch

        from bench.data import draw_from
        from bench.verify import Judge

        subjects: list[Subject] = []
        built: list = []

        def build() -> None:
            function, inputs = self._operation.build(draw_from(self._plan.seed), self._n)
            for dtype in self._plan.dtypes:
                wanted = getattr(torch, stored(dtype))
                cast = tuple(t.to(wanted) if t.is_floating_point() else t for t in inputs)
                self._judges[dtype] = Judge(self._operation, self._n, function, cast, dtype)
                built.append((dtype, (function, cast)))

        self._say(self._plan.group(self._n)[0], "making inputs")
        if not self._attempt(None, build):
            return subjects
        ready = dict(built)
        built.clear()
        for case in self._plan.group(self._n):
            if why := self._attempts.why_not(case.device):
                self._finish(Failure(case, why))
                continue
            self._attempt(case, lambda case=case: subjects.append(self._subject(case, *ready[case.dtype])))
        return subjects

    def _subject(self, case: Case, function, inputs: tuple[Tensor, ...]) -> Subject:
        import torch

        from bench.devices import fallback_flags
        from bench.verify import Outline

        device = self._devices[case.device]
        self._say(
            case, noted("compiling, first call and warm-up") if case.compiled else noted("first call and warm-up")
        )
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
                first = timing.time_block(lambda: answers.append(step()), sync)
            outline = Outline.of(answers.pop())
            if first.seconds < budget.limit_s / 4:
                calls = timing.choose_calls(step, sync, budget.min_block_s)
                timing.warm_up(step, sync, calls, budget.target, budget.warmup_s)
        cost = self._operation.cost(self._n, WIDTHS[case.dtype])
        subject = Subject(case, device, step, cost, first.per_step, calls, outline, flags=flags)
        self._control.check()
        subject.check = self._judges[case.dtype].check(step, subject.outline)
        if first.seconds < budget.limit_s / 4 and not case.compiled:
            subject.memory = peak_memory(device, step)
        return subject

    def _visit(self, subject: Subject, number: int) -> None:
        part = (number - 1) / (1.3 * self._budget.min_rounds)
        self._say(subject.case, noted("round {number}", number=number), subject.samples, min(part, 0.95))
        subject.visit(self._budget, self._control)

    def _conclude(self, subject: Subject) -> None:
        from bench.verify import worse

        self._say(subject.case, "checking the answer again", subject.samples, 0.97)  # a crash here is this case's
        subject.check = worse(subject.check, self._judges[subject.case.dtype].check(subject.step, subject.outline))
        ceiling = self._ceilings[subject.case.device]
        self._finish(subject.measurement(self._budget, ceiling))

    def _attempt(self, case: Case | None, work: Callable[[], object]) -> bool:
        """Do the work; what the device cannot do becomes a failure of the case (of every case, if None)."""

        def as_the_case_says() -> None:
            with autocast(kind_of(case.device), case.dtype) if case else nullcontext():
                work()

        error = self._attempts.fails(case and case.device, as_the_case_says, case.threads if case else 0)
        if error:
            for one in self._plan.group(self._n) if case is None else (case,):
                self._finish(Failure(one, error))
        return not error

    def _say(self, case: Case, stage: str, samples: tuple[float, ...] = (), part: float = 0.0) -> None:
        progress = self._pace.progress(self._n, part)
        self._control.publish(current=case, stage=stage, samples_s=samples, **progress)
