"""A run: everything needed to read its numbers later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from bench import stats
from bench.records.case import Case, Variant
from bench.records.environment import Environment
from bench.records.measurement import Failure, Measurement, Outcome
from bench.records.reason import Reason, because

REFERENCE = "cpu"  # speed-ups are against it


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
    def variants(self) -> tuple[Variant, ...]:
        """Devices in every way they were measured, the planned devices in their order."""
        order = {device: i for i, device in enumerate(self.devices)}
        found = dict.fromkeys(outcome.case.variant for outcome in self.outcomes)
        return tuple(sorted(found, key=lambda variant: order.get(variant.device, len(order))))

    @cached_property
    def reference_variant(self) -> Variant:
        """What the others are compared with: the reference device as it usually computes, else its first variant."""
        usual = Variant(self.reference)
        return next(
            (
                variant
                for variant in (usual, *self.variants)
                if variant in self.variants and variant.device == usual.device
            ),
            usual,
        )

    @cached_property
    def batches(self) -> frozenset[int]:
        """Batch sizes that networks were trained at."""
        return frozenset(o.case.size for o in self.outcomes if o.case.workload.endswith("/train"))

    def variant_figure(self, variant: Variant) -> Reason:
        """A variant within a reason: with the words on what its device only pretends to be."""
        emulated = int(self.environment.is_emulated(variant.device))
        return because("variant", emulated=emulated, **variant._asdict())

    def the_variant_figure(self, variant: Variant) -> Reason:
        """The same in the middle of a sentence: "the CPU"."""
        return Reason("the_variant", self.variant_figure(variant).figures)

    def case_figure(self, case: Case) -> Reason:
        """A case without its variant, within a reason; with the batch size where there are several."""
        return because("case", workload=case.workload, size=case.size, several=int(not self.batches <= {case.size}))

    @property
    def emulated(self) -> bool:
        """True if any device of the run only pretends to be what its name says."""
        return any(self.environment.is_emulated(device) for device in self.devices)

    def reference_of(self, outcome: Outcome) -> Measurement | None:
        """The same case on the reference; None if it was not measured, or is the outcome itself."""
        found = self._by_case.get(replace(outcome.case, **self.reference_variant._asdict()))
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
