"""One network at one batch size: an epoch on each variant, then the next epoch on each; inference; the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from bench.measure.compiling import forget_compiled
from bench.measure.epochs import train_epoch
from bench.measure.faults import FaultHandler
from bench.measure.inference import infer, infer_singles
from bench.measure.preparation import prepare
from bench.measure.training_outcomes import conclude
from bench.measure.training_setup import Setup, VariantState
from bench.records.case import Case, Variant
from bench.records.measurement import Failure
from bench.records.reason import Reason

POINTS = 60  # of a loss curve in an epoch, at most about


class NetworkGroup:
    """One network at one batch size on all variants."""

    def __init__(self, setup: Setup, faults: FaultHandler) -> None:
        self._setup, self._faults = setup, faults

    def measure(self) -> None:
        """Finishes every case of the group, as a measurement or a failure."""
        forget_compiled()
        running = self._prepared()
        self._share_segments(list(running.values()))
        self._train(running)
        for variant in list(running):
            self._after_training(running.pop(variant))  # the last reference: its memory goes before the next one's

    def _prepared(self) -> dict[Variant, VariantState]:
        running: dict[Variant, VariantState] = {}
        for variant in self._setup.plan.variants_for(self._setup.network.name, self._setup.batch):
            cases = self._setup.cases(variant)
            if why := self._faults.why_not(variant.device):
                self._fail(cases, why)
                continue

            def work(variant: Variant = variant) -> None:
                running[variant] = prepare(self._setup, variant)

            self._attempt(cases, work)
        return running

    def _share_segments(self, running: list[VariantState]) -> None:
        """Losses are averaged over the same batches everywhere, so that the curves can lie on each other."""
        points = -(-self._setup.per_epoch // POINTS)
        segment = self._setup.segment = max(1, min([points, *(state.steps for state in running)]))
        for state in running:
            state.steps -= state.steps % segment

    def _train(self, running: dict[Variant, VariantState]) -> None:
        """Epoch by epoch; a variant that can't go on leaves ``running``."""
        for epoch in range(self._setup.plan.epochs):
            for variant in list(running):
                work = partial(train_epoch, self._setup, running[variant], epoch)
                if not self._attempt(self._setup.cases(variant), work):
                    del running[variant]

    def _after_training(self, state: VariantState) -> None:
        train, *others = self._setup.cases(state.variant)
        for case, work in zip(others, (infer, infer_singles), strict=False):
            if case not in self._setup.plan.skip:  # a run gone on with may have it, or have died of it
                self._attempt((case,), partial(work, self._setup, state))
        self._attempt((train,), partial(conclude, self._setup, state))

    def _attempt(self, cases: Sequence[Case], work: Callable[[], object]) -> bool:
        """Do the work; what the device cannot do ends these cases, and the others go on."""
        error = self._faults.fails(cases[0].device, work, cases[0].threads)
        if error:
            self._fail(cases, error)
        return not error

    def _fail(self, cases: Sequence[Case], error: Reason) -> None:
        for case in cases:
            if case not in self._setup.plan.skip:
                self._setup.finish(Failure(case, error))
        training = self._setup.cases(cases[0].variant)[0]
        if training in cases:
            self._setup.progress.drop(training)
