"""What watchers of a training see: its curves, its progress and the time left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.cases import Case
from bench.estimate import training_seconds
from bench.plans import TrainingPlan
from bench.runner import Curve

if TYPE_CHECKING:
    from bench.runner import Control


class Watch:
    """Tells watchers how it goes: the curves, and progress in expected seconds, corrected by those seen."""

    def __init__(self, plan: TrainingPlan, control: Control) -> None:
        self._control = control
        self._curves: dict[Case, Curve] = {}
        self._expected = {
            plan.cases_of(name, batch, lane)[0]: training_seconds(plan, name, batch, lane, control.devices[lane.device])
            for name in plan.networks
            for batch in plan.batches
            for lane in plan.lanes_for(name, batch)
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
        self, training: Case, stage: str, part: float, spent_s: float, samples: tuple[float, ...] = (),
        at: Case | None = None,
    ) -> None:  # fmt: skip
        """``part`` of a training and its inference is done after ``spent_s`` seconds; ``at`` is the case now."""
        self._part[training] = part
        if part > 0.02:
            self._expected[training] = spent_s / part
        total = sum(self._expected.values())
        done = sum(self._part[case] * self._expected[case] for case in self._part)
        self._control.publish(
            current=at or training, stage=stage, samples_s=samples, curves=tuple(self._curves.values()),
            done=min(done / total, 1.0), left_s=total - done,
        )  # fmt: skip

    def drop(self, training: Case) -> None:
        """It failed: nothing more is expected of it."""
        self._expected[training] = self._part[training] = 0.0
