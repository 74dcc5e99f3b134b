"""How far a job is and how long it still takes, as watchers see it; of a training its curves too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bench.measure import clock
from bench.measure.forecast import training_seconds
from bench.measure.plans import TrainingPlan
from bench.records.case import Case
from bench.records.curve import Curve
from bench.records.reason import Reason

if TYPE_CHECKING:
    from bench.measure.job import Control


class SweepProgress:
    """How far a sweep is and how long it still takes: the plan's guess, corrected by what was seen."""

    def __init__(self, expected: Mapping[int, float]) -> None:
        self._left = dict(expected)
        self._total = sum(expected.values()) or 1.0
        self._began = clock.now()

    def finish(self, n: int) -> None:
        """All of size ``n`` is done."""
        self._left.pop(n)

    def so_far(self, n: int, part: float) -> dict[str, float]:
        """``part`` of size ``n`` is done, from 0 to 1: the snapshot's ``done`` and ``left_s``."""
        left = sum(self._left.values()) - part * self._left[n]
        done = self._total - left
        elapsed = clock.now() - self._began
        correction = (elapsed + 1.0) / (done + 1.0)  # one second's worth of belief in the guess
        return {"done": min(done / self._total, 1.0), "left_s": left * correction}


class TrainingProgress:
    """Tells watchers how it goes: the curves, and progress in expected seconds, corrected by those seen."""

    def __init__(self, plan: TrainingPlan, control: Control) -> None:
        self._control = control
        self._curves: dict[Case, Curve] = {}
        self._expected = {
            plan.cases_of(name, batch, variant)[0]: training_seconds(
                plan, name, batch, variant, control.devices[variant.device]
            )
            for name in plan.networks
            for batch in plan.batches
            for variant in plan.variants_for(name, batch)
        }
        self._part = dict.fromkeys(self._expected, 0.0)

    def curve(self, case: Case) -> Curve:
        return self._curves.get(case, Curve(case))

    def extend(self, case: Case, images: int, loss: float, seconds: float) -> None:
        old = self.curve(case)
        self._curves[case] = replace(
            old, images=(*old.images, images), losses=(*old.losses, loss), seconds=(*old.seconds, seconds)
        )

    def tell(
        self,
        training: Case,
        stage: Reason,
        part: float,
        spent_s: float,
        samples: tuple[float, ...] = (),
        at: Case | None = None,
    ) -> None:
        """``part`` of a training and its inference is done after ``spent_s`` seconds; ``at`` is the case now."""
        self._part[training] = part
        if part > 0.02:
            self._expected[training] = spent_s / part
        total = sum(self._expected.values())
        done = sum(self._part[case] * self._expected[case] for case in self._part)
        self._control.publish(
            current=at or training,
            stage=stage,
            samples_s=samples,
            curves=tuple(self._curves.values()),
            done=min(done / total, 1.0),
            left_s=total - done,
        )

    def drop(self, training: Case) -> None:
        """It failed: nothing more is expected of it."""
        self._expected[training] = self._part[training] = 0.0
