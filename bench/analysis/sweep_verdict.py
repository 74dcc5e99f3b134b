"""The result of a sweep: which device, from which size, how much faster, how sure. Only what the data support."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from bench import stats
from bench.analysis.fits import FEWEST_ROUNDS, SweepFit, steadiness, sweep_fits
from bench.machine.ceilings import Roof
from bench.records.budget import SUSTAINED
from bench.records.case import Variant
from bench.records.reason import Figure, Quantity, Reason, because
from bench.records.run import Run
from bench.stats.crossover import Crossing
from bench.workloads.operations import OPERATIONS

Judged = Literal["faster", "slower", "open"]
FASTER: Final = "faster"
SLOWER: Final = "slower"
OPEN: Final = "open"
THROTTLED = 1.05  # times as slow: less than that is noise


def judge(speedup: stats.Estimate) -> Judged:
    """FASTER or SLOWER where the interval excludes 1, else OPEN."""
    if speedup.low > 1:
        return FASTER
    return SLOWER if speedup.high < 1 else OPEN


def of_sweep(run: Run, fits: Mapping[Variant, SweepFit] | None = None) -> list[Reason]:
    """One for each accelerator; empty if there is nothing to compare. For a sustained run, how it held up."""
    if is_sustained(run):
        return of_sustained(run)
    fits = sweep_fits(run) if fits is None else fits
    axis = OPERATIONS[str(run.settings["operation"])].axis
    found = []
    for variant in run.variants:
        points = sorted(
            ((m.case.size, s) for m in run.measurements if m.case.variant == variant and (s := run.speedup(m))),
            key=lambda point: point[0],
        )
        if variant != run.reference_variant and points:
            crossings = fits[variant].crossings if variant in fits else ()
            names: dict[str, Figure] = {
                "label": run.variant_figure(variant),
                "other": run.the_variant_figure(run.reference_variant),
                "axis": axis,
            }
            found.append(_of_variant(names, points, crossings))
    return found


def of_fits(run: Run, fits: Mapping[Variant, SweepFit], roofs: Sequence[Roof] = ()) -> list[Reason]:
    """What a call costs on each device; nothing of a device whose curve does not describe it."""
    found = []
    for variant, sweep_fit in fits.items():
        curve = sweep_fit.curve
        if curve is None or not curve.describes or not math.isfinite(curve.bandwidth.high):
            continue
        roof = next((r for r in roofs if r.device == variant.device and r.bytes_per_s), None)
        found.append(
            because(
                "overhead_and_bandwidth",
                variant=run.variant_figure(variant),
                overhead=Quantity(curve.t0.value, "s"),
                bandwidth=Quantity(curve.bandwidth.value, "B/s"),
                share=_share_of_roof(curve.bandwidth.value, roof),
            )
        )
    return found


def _share_of_roof(bandwidth: float, roof: Roof | None) -> Reason:
    if roof is None:
        return because("nothing")
    rate, share = Quantity(roof.bytes_per_s, "B/s"), bandwidth / roof.bytes_per_s
    if share <= 1:
        return because("share_of_roof", part=round(100 * share), rate=rate, whose=roof.whose)
    return because("above_roof", rate=rate, whose=roof.whose)


Points = Sequence[tuple[int, stats.Estimate]]


def _of_variant(names: dict[str, Figure], points: Points, crossings: Sequence[Crossing]) -> Reason:
    """The verdict on one device against the reference, from the speed-ups of its sizes in ascending order."""
    judged = [(n, judge(speedup)) for n, speedup in points]
    decided = [(n, verdict) for n, verdict in judged if verdict != OPEN]
    if not decided:
        return because("indistinguishable", label=names["label"], other=names["other"])
    names = names | {"doubt": _undecided(names["axis"], [n for n, verdict in judged if verdict == OPEN])}
    changes = [(a, b) for a, b in itertools.pairwise(decided) if a[1] != b[1]]
    if len(crossings) == 1 and len(changes) == 1:
        return _crossing(names, points, crossings[0])
    if len(changes) > 1:
        better = tuple(n for n, verdict in decided if verdict == FASTER)
        return because("several_changes", better=better, **names)
    if changes:
        return _one_change(names, points, changes[0])
    return _no_change(names, points, decided[0][1])


def _undecided(axis: Figure, sizes: Sequence[int]) -> Reason:
    return because("undecided_at", axis=axis, sizes=tuple(sizes)) if sizes else because("nothing")


def _crossing(names: dict[str, Figure], points: Points, crossing: Crossing) -> Reason:
    size, (last, at_last) = crossing.size, points[-1]
    around = because(
        "around", axis=names["axis"], size=_round(size.value), low=_round(size.low), high=_round(size.high)
    )
    if crossing.candidate_wins:
        return because("pays_above", around=around, factor=at_last, last=last, **names)
    return because("pays_below", around=around, **names)


def _one_change(
    names: dict[str, Figure], points: Points, change: tuple[tuple[int, Judged], tuple[int, Judged]]
) -> Reason:
    (before, first), (after, _) = change
    last, at_last = points[-1]
    if first == SLOWER:
        return because("pays_from", before=before, after=after, factor=at_last, last=last, **names)
    return because("pays_until", before=before, after=after, **names)


def _no_change(names: dict[str, Figure], points: Points, verdict: Judged) -> Reason:
    last, at_last = points[-1]
    if verdict == FASTER:
        return because("pays_always", factor=at_last, at=because("at_size", axis=names["axis"], size=last), **names)
    size, best = max((p for p in points if judge(p[1]) == SLOWER), key=lambda point: point[1].value)
    return because("never_pays", size=size, factor=inverse(best), **names)


def of_noise(run: Run) -> list[Reason]:
    """A device against itself: how large a difference the instrument shows where there is none."""
    speedups = [s for m in run.measurements if (s := run.speedup(m))]
    if not speedups:
        return []
    wrong = sum(judge(s) != OPEN for s in speedups)
    mean = stats.geometric_mean([s.value for s in speedups])
    return [
        because(
            "against_itself",
            label=run.label(run.reference),
            right=len(speedups) - wrong,
            all=len(speedups),
            largest=Quantity(noise_band(run) - 1, "%"),
            overall=Quantity(abs(mean - 1), "%"),
        )
    ]


def of_sustained(run: Run) -> list[Reason]:
    """Whether a case kept its speed for minutes; throttling is named with its size."""
    found = []
    for m in run.measurements:
        if len(m.by_round) < FEWEST_ROUNDS or not m.believed:
            continue
        held = steadiness(m)
        name = because("on", what=m.case.size, variant=run.variant_figure(m.case.variant))
        settled = Quantity(held.settled_s, "s")
        if held.slowdown > THROTTLED:
            factor = Quantity(held.slowdown, "")
            found.append(because("throttles", name=name, time=held.after_s, settled=settled, factor=factor))
        elif held.slowdown < 1 / THROTTLED:
            factor = Quantity(1 / held.slowdown, "")
            found.append(because("speeds_up", name=name, time=held.after_s, settled=settled, factor=factor))
        else:
            found.append(because("kept_speed", name=name, lasted=held.lasted_s, settled=settled))
    return found


def is_sustained(run: Run) -> bool:
    budget = run.settings.get("budget")
    return isinstance(budget, Mapping) and budget.get("name") == SUSTAINED


def noise_band(run: Run) -> float:
    """The largest factor by which a device differed from itself: speed-ups up to it mean nothing. 1 is none."""
    return max((max(s.value, 1 / s.value) for m in run.measurements if (s := run.speedup(m))), default=1.0)


def inverse(speedup: stats.Estimate) -> stats.Estimate:
    return speedup.rate_of(1.0)


def _round(size: float) -> int:
    """A fitted size, to three digits."""
    return round(float(f"{size:.2e}"))
