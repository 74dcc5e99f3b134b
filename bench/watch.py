"""What watchers of a training see: its curves, its progress and the time left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.cases import Case, TrainingPlan
from bench.estimate import training_seconds
from bench.runner import Curve

if TYPE_CHECKING:
    from bench.runner import Control


class Watch:
    """Tells watchers how it goes: the curves, and progress in expected seconds, corrected by those seen."""

    def __init__(self, plan: TrainingPlan, control: Control) -> None:
        self._control = control
        self._curves: dict[tuple[str, str], Curve] = {}
        self._expected = {
            (name, device): training_seconds(plan, name, control.devices[device])
            for name in plan.networks
            for device in plan.devices_for(name)
        }
        self._part = dict.fromkeys(self._expected, 0.0)

    def curve(self, network: str, device: str) -> Curve:
        return self._curves.get((network, device), Curve(network, device))

    def extend(self, network: str, device: str, images: int, loss: float, seconds: float) -> None:
        old = self.curve(network, device)
        self._curves[network, device] = replace(
            old, images=(*old.images, images), losses=(*old.losses, loss), seconds=(*old.seconds, seconds)
        )

    def tell(self, case: Case, stage: str, part: float, spent_s: float, samples: tuple[float, ...] = ()) -> None:
        """``part`` of this network on this device is done after ``spent_s`` seconds of timed work."""
        key = case.workload.partition("/")[0], case.device
        self._part[key] = part
        if part > 0.02:
            self._expected[key] = spent_s / part
        total = sum(self._expected.values())
        done = sum(self._part[key] * self._expected[key] for key in self._part)
        self._control.publish(
            current=case, stage=stage, samples_s=samples, curves=tuple(self._curves.values()),
            done=min(done / total, 1.0), left_s=total - done,
        )  # fmt: skip

    def drop(self, network: str, device: str) -> None:
        """It failed: nothing more is expected of it."""
        self._expected[network, device] = self._part[network, device] = 0.0
