"""The result as a sentence: which device, from which size, how much faster, how sure. Only what the data support."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from bench import analysis, stats
from bench.analysis import Portrait
from bench.cases import SUSTAINED, Case, Lane
from bench.fit import Crossing
from bench.guards import Roof
from bench.registry import OPERATIONS
from bench.results import BUSY, CONVERGED, NOISY, TIMED_OUT, UNVERIFIED, Measurement, Run
from bench.units import count, duration, listed, si, significant, times

FASTER, SLOWER, OPEN = "faster", "slower", "open"
MOST_NAMED = 4
THROTTLED = 1.05  # times as slow: less than that is noise
PHASE_WORDS = {
    "loading": "taking the batch from memory", "copy": "copying it to the device", "forward": "the forward pass",
    "backward": "the backward pass", "optimiser": "the optimiser",
}  # fmt: skip


def judge(speedup: stats.Estimate) -> str:
    """FASTER or SLOWER where the interval excludes 1, else OPEN."""
    if speedup.low > 1:
        return FASTER
    return SLOWER if speedup.high < 1 else OPEN


def of_sweep(run: Run, portraits: Mapping[Lane, Portrait] | None = None) -> list[str]:
    """A sentence for each accelerator; empty if there is nothing to compare. For a sustained run, how it held up."""
    if is_sustained(run):
        return of_sustained(run)
    portraits = analysis.portraits(run) if portraits is None else portraits
    axis = OPERATIONS[str(run.settings["operation"])].axis
    sentences = []
    other = _the(run, run.reference_lane)
    for lane in run.lanes:
        points = sorted(
            ((m.case.size, s) for m in run.measurements if m.case.lane == lane and (s := run.speedup(m))),
            key=lambda point: point[0],
        )
        if lane != run.reference_lane and points:
            crossings = portraits[lane].crossings if lane in portraits else ()
            sentences.append(_sweep_sentence(run.name(lane), other, axis, points, crossings))
    return sentences


def of_portraits(run: Run, portraits: Mapping[Lane, Portrait], roofs: Sequence[Roof] = ()) -> list[str]:
    """What a call costs on each device, in words; nothing of a device whose curve does not describe it."""
    sentences = []
    for lane, portrait in portraits.items():
        curve = portrait.curve
        if curve is None or not curve.describes or not math.isfinite(curve.bandwidth.high):
            continue
        roof = next((r for r in roofs if r.device == lane.device and r.bytes_per_s), None)
        share = ""
        if roof:
            part, whose = 100 * curve.bandwidth.value / roof.bytes_per_s, roof.name.split(": ")[-1]
            share = f", {part:.0f} % of the {si(roof.bytes_per_s, 'B/s')} of its {whose}"
        sentences.append(
            f"{run.name(lane)} needs {si(curve.t0.value, 's')} to start a call; after that it moves "
            f"{si(curve.bandwidth.value, 'B/s')}{share}."
        )
    return sentences


def _sweep_sentence(
    label: str, other: str, axis: str, points: list[tuple[int, stats.Estimate]], crossings: Sequence[Crossing]
) -> str:
    verdicts = [judge(speedup) for _, speedup in points]
    last, at_last = points[-1]
    undecided = [count(n) for (n, _), verdict in zip(points, verdicts, strict=True) if verdict == OPEN]
    doubt = f" Undecided at {axis} = {', '.join(undecided)}." if undecided else ""
    decided = [(n, verdict) for (n, _), verdict in zip(points, verdicts, strict=True) if verdict != OPEN]
    if not decided:
        return f"{label} and {other} can't be told apart at any of these sizes."
    changes = [(a, b) for a, b in itertools.pairwise(decided) if a[1] != b[1]]
    if len(crossings) == 1 and len(changes) == 1:
        size = crossings[0].size
        around = f"{axis} ≈ {_round(size.value)} ({_round(size.low)} to {_round(size.high)})"
        if crossings[0].candidate_wins:
            return f"Up to {around} use {other}, above it {label}: {times(at_last)} as fast at {count(last)}.{doubt}"
        return f"Up to {around} use {label}, above it {other}.{doubt}"
    if len(changes) > 1:
        better = ", ".join(count(n) for n, verdict in decided if verdict == FASTER)
        return f"The two change places more than once: {label} is faster at {axis} = {better}.{doubt}"
    if not changes:
        if decided[0][1] == FASTER:
            at = f"{axis} = {count(last)}"
            return f"Use {label} at all these sizes: {times(at_last)} as fast as {other} at {at}.{doubt}"
        best = max((p for p in points if judge(p[1]) == SLOWER), key=lambda point: point[1].value)
        return (
            f"Use {other} at all these sizes: even at {axis} = {count(best[0])}, where {label} comes closest, "
            f"{other} is {times(_inverse(best[1]))} as fast.{doubt}"
        )
    (before, first), (after, _) = changes[0]
    if first == SLOWER:
        return (
            f"Up to {axis} = {count(before)} use {other}; from {count(after)} {label}, "
            f"{times(at_last)} as fast at {count(last)}.{doubt}"
        )
    return f"Up to {axis} = {count(before)} use {label}; from {count(after)} {other}.{doubt}"


def of_noise(run: Run) -> list[str]:
    """A device against itself: how large a difference the instrument shows where there is none."""
    speedups = [s for m in run.measurements if (s := run.speedup(m))]
    if not speedups:
        return []
    wrong = sum(judge(s) != OPEN for s in speedups)
    label, mean = run.label(run.reference), stats.geometric_mean([s.value for s in speedups])
    return [
        f"{label} against itself: {len(speedups) - wrong} of {len(speedups)} intervals hold 1, as they should; the "
        f"largest difference is {significant(100 * (noise_band(run) - 1), 2)} %, and all sizes together differ by "
        f"{significant(100 * abs(mean - 1), 2)} %."
    ]


def of_sustained(run: Run) -> list[str]:
    """Whether a case kept its speed for minutes; throttling is named with its size."""
    sentences = []
    for m in run.measurements:
        if len(m.by_round) < analysis.FEWEST_ROUNDS or not m.believed:
            continue
        held = analysis.steadiness(m)
        lasted, settled = duration(held.lasted_s), si(held.settled_s, "s")
        name = f"{count(m.case.size)} on {run.name(m.case.lane)}"
        if held.slowdown > THROTTLED:
            sentences.append(
                f"{name} throttles: after {duration(held.after_s)} it settled at {settled} a call, "
                f"{significant(held.slowdown)} times as slow as at first."
            )
        elif held.slowdown < 1 / THROTTLED:
            sentences.append(
                f"{name} became {significant(1 / held.slowdown)} times as fast within {duration(held.after_s)}, and "
                f"stayed at {settled} a call."
            )
        else:
            sentences.append(f"{name} kept its speed for {lasted}: {settled} a call, no throttling.")
    return sentences


def is_sustained(run: Run) -> bool:
    budget = run.settings.get("budget")
    return isinstance(budget, Mapping) and budget.get("name") == SUSTAINED


def noise_band(run: Run) -> float:
    """The largest factor by which a device differed from itself: speed-ups up to it mean nothing. 1 is none."""
    return max((max(s.value, 1 / s.value) for m in run.measurements if (s := run.speedup(m))), default=1.0)


def of_training(run: Run) -> list[str]:
    """A sentence for each training on each lane but the reference."""
    return _of_networks(run, lambda case: case.workload.endswith("/train"), _epoch, " an epoch")


def of_singles(run: Run) -> list[str]:
    """The same for single images: the latency."""
    return _of_networks(run, lambda case: case.workload.endswith("/infer") and case.size == 1, _latency, "")


def _of_networks(run: Run, wanted: Callable[[Case], bool], read: Callable[[Measurement], str], unit: str) -> list[str]:
    sentences = []
    other = _the(run, run.reference_lane)
    for m in run.measurements:
        reference, speedup = run.reference_of(m), run.speedup(m)
        if not wanted(m.case) or not reference or not speedup:
            continue
        label, verdict = run.name(m.case.lane), judge(speedup)
        here, there = read(m), read(reference)
        if verdict == FASTER:
            told = f"{label} is {times(speedup)} as fast as {other} ({here} against {there}{unit})"
        elif verdict == SLOWER:
            told = f"{other} is {times(_inverse(speedup))} as fast as {label} ({there} against {here}{unit})"
        else:
            told = f"{label} and {other} can't be told apart ({here} against {there}{unit})"
        sentences.append(f"{run.what(m.case)}: {told}.{_longest_phase(m, label) if unit else ''}")
    return sentences


def _the(run: Run, lane: Lane) -> str:
    """A lane within a sentence: "the CPU"."""
    name = run.name(lane)
    return "the CPU" if name == "CPU" else name


def _longest_phase(m: Measurement, label: str) -> str:
    """What a training step on this device spends most of its time with, if that is more than two fifths."""
    mids = {phase: stats.median(seconds).value for phase, seconds in m.learning.phases_s.items()}
    total = sum(mids.values())
    if not total or max(mids.values()) < 0.4 * total:
        return ""
    phase = max(mids, key=mids.get)
    return f" On {label} {100 * mids[phase] / total:.0f} % of a step goes into {PHASE_WORDS.get(phase, phase)}."


def about_energy(run: Run) -> str:
    """What the joules of a training cover, or why there are none; empty where the run does not tell."""
    told, sentences = run.settings.get("energy"), []
    for device, meter in told.items() if isinstance(told, Mapping) else ():
        if not isinstance(meter, Mapping):
            continue
        covers, absent = str(meter.get("covers", "")), str(meter.get("absent", ""))
        if absent:
            sentences.append(f"Energy on {run.label(device)}: absent. {absent}")
        elif any(m.learning and m.learning.energy_j for m in run.measurements if m.case.device == device):
            sentences.append(f"Energy on {run.label(device)} is an estimate of {covers}, idling included.")
        elif covers:
            sentences.append(f"Energy on {run.label(device)}: absent. An epoch was too short for the counter.")
    return " ".join(sentences)


def doubts(run: Run) -> list[str]:
    """One line for each reason to be careful; none if there is none."""
    lines = []
    struck = {}
    for m in run.measurements:
        if not m.believed:
            struck.setdefault((run.name(m.case.lane), m.reason), []).append(m)
    for (lane, reason), some in struck.items():
        names, verb = listed([run.what(m.case) for m in some], MOST_NAMED), "is" if len(some) == 1 else "are"
        lines.append(f"{names} on {lane} {verb} struck out: {reason[:1].lower()}{reason[1:]}")
    total = len(run.outcomes)
    kinds = ((UNVERIFIED, "too large to be checked"), (NOISY, "noisy"), (TIMED_OUT, "cut short by the time limit"))
    for status, what in kinds:
        some = [m for m in run.measurements if m.status == status]
        if some:
            names = listed([_name(run, m) for m in some], MOST_NAMED)
            lines.append(f"{len(some)} of {total} cases {'is' if len(some) == 1 else 'are'} {what}: {names}.")
    busy = [m for m in run.measurements if m.status == CONVERGED and m.noise > BUSY]
    if busy and run.kind != "training":
        names = listed([_name(run, m) for m in busy], MOST_NAMED)
        lines.append(f"Samples scatter widely (the machine was probably busy) at {names}.")
    for flag in dict.fromkeys(flag for m in run.measurements for flag in m.flags):
        names = [_name(run, m) for m in run.measurements if flag in m.flags]
        lines.append(f"{listed(names, 3)}: {flag}")
    if run.environment.variables.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") not in ("", "0"):
        lines.append("PYTORCH_ENABLE_MPS_FALLBACK is set: operators that MPS lacks run on the CPU unseen.")
    if run.environment.translated:
        lines.append("This Python is an Intel build run by Rosetta; everything on the CPU is slower than it need be.")
    return lines


def _name(run: Run, m: Measurement) -> str:
    return f"{run.what(m.case)} on {run.name(m.case.lane)}"


def _latency(m: Measurement) -> str:
    return si(m.median_s.value, "s")


def _epoch(m: Measurement) -> str:
    epochs = m.learning.epochs_s
    return f"{significant(sum(epochs) / len(epochs))} s"


def _round(size: float) -> str:
    """A fitted size, to three digits."""
    return count(round(float(f"{size:.2e}")))


def _inverse(speedup: stats.Estimate) -> stats.Estimate:
    return speedup.rate_of(1.0)
