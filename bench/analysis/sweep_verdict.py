"""The result as a sentence: which device, from which size, how much faster, how sure. Only what the data support."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from bench import stats
from bench.analysis import fits
from bench.analysis.fits import SweepFit
from bench.machine.ceilings import Roof
from bench.records.budget import SUSTAINED
from bench.records.case import Variant
from bench.records.run import Run
from bench.stats.crossover import Crossing
from bench.text.language import translate
from bench.text.units import count, duration, si, significant, times
from bench.workloads.operations import OPERATIONS

FASTER, SLOWER, OPEN = "faster", "slower", "open"
THROTTLED = 1.05  # times as slow: less than that is noise


def judge(speedup: stats.Estimate) -> str:
    """FASTER or SLOWER where the interval excludes 1, else OPEN."""
    if speedup.low > 1:
        return FASTER
    return SLOWER if speedup.high < 1 else OPEN


def of_sweep(run: Run, sweep_fits: Mapping[Variant, SweepFit] | None = None) -> list[str]:
    """A sentence for each accelerator; empty if there is nothing to compare. For a sustained run, how it held up."""
    if is_sustained(run):
        return of_sustained(run)
    sweep_fits = fits.sweep_fits(run) if sweep_fits is None else sweep_fits
    axis = OPERATIONS[str(run.settings["operation"])].axis
    sentences = []
    other = the(run, run.reference_variant)
    for variant in run.variants:
        points = sorted(
            ((m.case.size, s) for m in run.measurements if m.case.variant == variant and (s := run.speedup(m))),
            key=lambda point: point[0],
        )
        if variant != run.reference_variant and points:
            crossings = sweep_fits[variant].crossings if variant in sweep_fits else ()
            sentences.append(_sweep_sentence(run.name(variant), other, axis, points, crossings))
    return sentences


def of_fits(run: Run, sweep_fits: Mapping[Variant, SweepFit], roofs: Sequence[Roof] = ()) -> list[str]:
    """What a call costs on each device, in words; nothing of a device whose curve does not describe it."""
    sentences = []
    for variant, sweep_fit in sweep_fits.items():
        curve = sweep_fit.curve
        if curve is None or not curve.describes or not math.isfinite(curve.bandwidth.high):
            continue
        roof = next((r for r in roofs if r.device == variant.device and r.bytes_per_s), None)
        share = ""
        if roof:
            part, whose = 100 * curve.bandwidth.value / roof.bytes_per_s, roof.name.split(": ")[-1]
            words = {"rate": si(roof.bytes_per_s, "B/s"), "whose": whose}
            if part <= 100:
                share = translate(", {part:.0f} % of the {rate} of its {whose}", part=part, **words)
            else:
                share = translate(", more than the {rate} of its {whose}: out of a cache, or it was busy then", **words)
        sentences.append(
            translate(
                "{variant} needs {overhead} to start a call; after that it moves {bandwidth}{share}.",
                variant=run.name(variant),
                overhead=si(curve.t0.value, "s"),
                bandwidth=si(curve.bandwidth.value, "B/s"),
                share=share,
            )
        )
    return sentences


def _sweep_sentence(
    label: str, other: str, axis: str, points: list[tuple[int, stats.Estimate]], crossings: Sequence[Crossing]
) -> str:
    verdicts = [judge(speedup) for _, speedup in points]
    last, at_last = points[-1]
    undecided = [count(n) for (n, _), verdict in zip(points, verdicts, strict=True) if verdict == OPEN]
    doubt = translate(" Undecided at {axis} = {sizes}.", axis=axis, sizes=", ".join(undecided)) if undecided else ""
    decided = [(n, verdict) for (n, _), verdict in zip(points, verdicts, strict=True) if verdict != OPEN]
    words = {"label": label, "other": other, "axis": axis, "last": count(last), "doubt": doubt}
    if not decided:
        return translate("{label} and {other} can't be told apart at any of these sizes.", **words)
    changes = [(a, b) for a, b in itertools.pairwise(decided) if a[1] != b[1]]
    if len(crossings) == 1 and len(changes) == 1:
        size = crossings[0].size
        ends = {"size": _round(size.value), "low": _round(size.low), "high": _round(size.high)}
        words["around"] = translate("{axis} ≈ {size} ({low} to {high})", axis=axis, **ends)
        if crossings[0].candidate_wins:
            return translate(
                "Up to {around} use {other}, above it {label}: {factor} as fast at {last}.{doubt}",
                factor=times(at_last),
                **words,
            )
        return translate("Up to {around} use {label}, above it {other}.{doubt}", **words)
    if len(changes) > 1:
        better = ", ".join(count(n) for n, verdict in decided if verdict == FASTER)
        return translate(
            "The two change places more than once: {label} is faster at {axis} = {better}.{doubt}",
            better=better,
            **words,
        )
    if not changes:
        if decided[0][1] == FASTER:
            return translate(
                "Use {label} at all these sizes: {factor} as fast as {other} at {at}.{doubt}",
                factor=times(at_last),
                at=f"{axis} = {count(last)}",
                **words,
            )
        best = max((p for p in points if judge(p[1]) == SLOWER), key=lambda point: point[1].value)
        return translate(
            "Use {other} at all these sizes: even at {axis} = {size}, where {label} comes closest, "
            "{other} is {factor} as fast.{doubt}",
            size=count(best[0]),
            factor=times(inverse(best[1])),
            **words,
        )
    (before, first), (after, _) = changes[0]
    words |= {"before": count(before), "after": count(after)}
    if first == SLOWER:
        return translate(
            "Up to {axis} = {before} use {other}; from {after} {label}, {factor} as fast at {last}.{doubt}",
            factor=times(at_last),
            **words,
        )
    return translate("Up to {axis} = {before} use {label}; from {after} {other}.{doubt}", **words)


def of_noise(run: Run) -> list[str]:
    """A device against itself: how large a difference the instrument shows where there is none."""
    speedups = [s for m in run.measurements if (s := run.speedup(m))]
    if not speedups:
        return []
    wrong = sum(judge(s) != OPEN for s in speedups)
    label, mean = run.label(run.reference), stats.geometric_mean([s.value for s in speedups])
    return [
        translate(
            "{label} against itself: {right} of {all} intervals hold 1, as they should; the "
            "largest difference is {largest} %, and all sizes together differ by "
            "{overall} %.",
            label=label,
            right=len(speedups) - wrong,
            all=len(speedups),
            largest=significant(100 * (noise_band(run) - 1), 2),
            overall=significant(100 * abs(mean - 1), 2),
        )
    ]


def of_sustained(run: Run) -> list[str]:
    """Whether a case kept its speed for minutes; throttling is named with its size."""
    sentences = []
    for m in run.measurements:
        if len(m.by_round) < fits.FEWEST_ROUNDS or not m.believed:
            continue
        held = fits.steadiness(m)
        lasted, settled = duration(held.lasted_s), si(held.settled_s, "s")
        name = translate("{what} on {variant}", what=count(m.case.size), variant=run.name(m.case.variant))
        words = {"name": name, "settled": settled, "time": duration(held.after_s)}
        if held.slowdown > THROTTLED:
            told = translate(
                "{name} throttles: after {time} it settled at {settled} a call, {factor} times as slow as at first.",
                factor=significant(held.slowdown),
                **words,
            )
        elif held.slowdown < 1 / THROTTLED:
            told = translate(
                "{name} became {factor} times as fast within {time}, and stayed at {settled} a call.",
                factor=significant(1 / held.slowdown),
                **words,
            )
        else:
            told = translate(
                "{name} kept its speed for {lasted}: {settled} a call, no throttling.", lasted=lasted, **words
            )
        sentences.append(told)
    return sentences


def is_sustained(run: Run) -> bool:
    budget = run.settings.get("budget")
    return isinstance(budget, Mapping) and budget.get("name") == SUSTAINED


def noise_band(run: Run) -> float:
    """The largest factor by which a device differed from itself: speed-ups up to it mean nothing. 1 is none."""
    return max((max(s.value, 1 / s.value) for m in run.measurements if (s := run.speedup(m))), default=1.0)


def the(run: Run, variant: Variant) -> str:
    """A variant within a sentence: "the CPU"."""
    name = run.name(variant)
    return translate("the CPU") if name == "CPU" else name


def _round(size: float) -> str:
    """A fitted size, to three digits."""
    return count(round(float(f"{size:.2e}")))


def inverse(speedup: stats.Estimate) -> stats.Estimate:
    return speedup.rate_of(1.0)
