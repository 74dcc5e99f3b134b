"""What a sweep says as a whole, per device: overhead, bandwidth, and where the faster device changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.fit import Crossing, Curve, crossovers, fit_curve
from bench.results import Measurement, Run

FEWEST_SIZES = 3  # of a curve


@dataclass(frozen=True, eq=False)
class Portrait:
    """One device in one sweep."""

    device: str
    curve: Curve | None  # None with too few sizes
    crossings: tuple[Crossing, ...]  # against the run's reference; empty where the faster one never changes


def portraits(run: Run) -> dict[str, Portrait]:
    """A portrait of each device that has something believable to show. Takes about 0.1 s a device: keep the result."""
    by_device = {device: _points(run, device) for device in run.devices}
    return {device: _portrait(run, device, by_device) for device, points in by_device.items() if points}


def _portrait(run: Run, device: str, by_device: dict[str, dict[int, Measurement]]) -> Portrait:
    mine, reference = by_device[device], by_device.get(run.reference, {})
    curve = None
    if len(mine) >= FEWEST_SIZES:
        points = list(mine.values())
        curve = fit_curve([m.cost.bytes_moved for m in points], [m.by_round for m in points])
    shared = [n for n in mine if n in reference]
    crossings: Sequence[Crossing] = ()
    if device != run.reference and len(shared) >= 2:
        crossings = crossovers(
            shared,
            [mine[n].cost.bytes_moved for n in shared],
            [reference[n].by_round for n in shared],
            [mine[n].by_round for n in shared],
        )
    return Portrait(device, curve, tuple(crossings))


def _points(run: Run, device: str) -> dict[int, Measurement]:
    """Believed measurements by size, ascending; rounds without samples are none."""
    found = (m for m in run.measurements if m.case.device == device and m.believed and m.learning is None)
    return {m.case.size: m for m in sorted(found, key=lambda m: m.case.size)}
