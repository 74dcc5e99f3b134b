"""What a sweep says as a whole, per device: overhead, bandwidth, and where the faster device changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.cases import Lane
from bench.fit import Crossing, Curve, crossovers, fit_curve
from bench.results import Measurement, Run

FEWEST_SIZES = 3  # of a curve
FEWEST_ROUNDS = 6  # to see a change over time
SETTLED, STAYS = 0.03, 5  # a device has settled when so many rounds in a row are within 3 % of the second half


@dataclass(frozen=True, eq=False)
class Portrait:
    """One device in one sweep."""

    lane: Lane
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


def portraits(run: Run) -> dict[Lane, Portrait]:
    """A portrait of each lane that has something believable to show. Takes about 0.1 s a device: keep the result."""
    by_lane = {lane: _points(run, lane) for lane in run.lanes}
    return {lane: _portrait(run, lane, by_lane) for lane, points in by_lane.items() if points}


def _portrait(run: Run, lane: Lane, by_lane: dict[Lane, dict[int, Measurement]]) -> Portrait:
    mine, reference = by_lane[lane], by_lane.get(run.reference_lane, {})
    curve = None
    if len(mine) >= FEWEST_SIZES:
        points = list(mine.values())
        curve = fit_curve([m.cost.bytes_moved for m in points], [m.by_round for m in points])
    shared = [n for n in mine if n in reference]
    crossings: Sequence[Crossing] = ()
    if lane != run.reference_lane and len(shared) >= 2:
        crossings = crossovers(
            shared,
            [mine[n].cost.bytes_moved for n in shared],
            [reference[n].by_round for n in shared],
            [mine[n].by_round for n in shared],
        )
    return Portrait(lane, curve, tuple(crossings))


def _points(run: Run, lane: Lane) -> dict[int, Measurement]:
    """Believed measurements by size, ascending; rounds without samples are none."""
    found = (m for m in run.measurements if m.case.lane == lane and m.believed and m.learning is None)
    return {m.case.size: m for m in sorted(found, key=lambda m: m.case.size)}
