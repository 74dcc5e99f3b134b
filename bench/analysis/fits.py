"""What a sweep says as a whole, per device: overhead, bandwidth, and where the faster device changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.records.case import Variant
from bench.records.measurement import Measurement
from bench.records.run import Run
from bench.stats.crossover import Crossing, crossovers
from bench.stats.fit import Curve, fit_curve

FEWEST_SIZES = 3  # of a curve
FEWEST_ROUNDS = 6  # to see a change over time
SETTLED, STAYS = 0.03, 5  # a device has settled when so many rounds in a row are within 3 % of the second half


@dataclass(frozen=True, eq=False)
class SweepFit:
    """One device in one sweep."""

    variant: Variant
    curve: Curve | None  # None with too few sizes
    crossings: tuple[Crossing, ...]  # against the run's reference; empty where the faster one never changes


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How a case held up over its rounds."""

    first_s: float  # median of the first rounds, seconds a step
    settled_s: float  # of the second half
    after_s: float  # of measuring until the rounds stayed near the settled time
    lasted_s: float

    @property
    def slowdown(self) -> float:
        """Settled over first time: 1.5 is one and a half times as slow."""
        return self.settled_s / self.first_s


def steadiness(m: Measurement) -> Steadiness:
    """From the medians of the rounds, and how long each took. ValueError with fewer than FEWEST_ROUNDS rounds."""
    if len(m.by_round) < FEWEST_ROUNDS:
        raise ValueError(f"{len(m.by_round)} rounds are too few to see a change")
    mids = [median(a_round) for a_round in m.by_round]
    lasted = [sum(a_round) * m.calls for a_round in m.by_round]
    settled = median(mids[len(mids) // 2 :])
    off = [i for i, mid in enumerate(mids) if abs(mid / settled - 1) > SETTLED]
    begin = next((i for i in range(len(mids)) if not any(i <= k < i + STAYS for k in off)), 0)
    return Steadiness(median(mids[:3]), settled, sum(lasted[:begin]), sum(lasted))


def sweep_fits(run: Run) -> dict[Variant, SweepFit]:
    """A fit of each variant that has something believable to show. Takes about 0.1 s a device: keep the result."""
    by_variant = {variant: _points(run, variant) for variant in run.variants}
    return {variant: _sweep_fit(run, variant, by_variant) for variant, points in by_variant.items() if points}


def _sweep_fit(run: Run, variant: Variant, by_variant: dict[Variant, dict[int, Measurement]]) -> SweepFit:
    mine, reference = by_variant[variant], by_variant.get(run.reference_variant, {})
    curve = None
    if len(mine) >= FEWEST_SIZES:
        points = list(mine.values())
        curve = fit_curve([m.cost.bytes_moved for m in points], [m.by_round for m in points])
    shared = [n for n in mine if n in reference]
    crossings: Sequence[Crossing] = ()
    if variant != run.reference_variant and len(shared) >= 2:
        crossings = crossovers(
            shared,
            [mine[n].cost.bytes_moved for n in shared],
            [reference[n].by_round for n in shared],
            [mine[n].by_round for n in shared],
        )
    return SweepFit(variant, curve, tuple(crossings))


def _points(run: Run, variant: Variant) -> dict[int, Measurement]:
    """Believed measurements by size, ascending; rounds without samples are none."""
    found = (m for m in run.measurements if m.case.variant == variant and m.believed and m.learning is None)
    return {m.case.size: m for m in sorted(found, key=lambda m: m.case.size)}
