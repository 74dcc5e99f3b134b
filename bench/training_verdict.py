"""The result of trainings as sentences: which device, how much faster, where a step's time goes, what it used up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench import stats
from bench.cases import Case
from bench.results import Measurement, Run
from bench.units import si, times
from bench.verdict import FASTER, OPEN, SLOWER, inverse, judge, the
from bench.words import phrase, say

PHASE_WORDS = {
    "loading": phrase("taking the batch from memory"),
    "copy": phrase("copying it to the device"),
    "forward": phrase("the forward pass"),
    "backward": phrase("the backward pass"),
    "optimiser": phrase("the optimiser"),
}


def of_training(run: Run) -> list[str]:
    """A sentence for each training on each lane but the reference."""
    return _of_networks(run, lambda case: case.workload.endswith("/train"), _epoch, say(" an epoch"))


def of_singles(run: Run) -> list[str]:
    """The same for single images: the latency."""
    return _of_networks(run, lambda case: case.workload.endswith("/infer") and case.size == 1, _latency, "")


def _of_networks(
    run: Run, wanted: Callable[[Case], bool], seconds: Callable[[Measurement], float], unit: str
) -> list[str]:
    sentences = []
    other = the(run, run.reference_lane)
    for m in run.measurements:
        reference, speedup = run.reference_of(m), run.speedup(m)
        if not wanted(m.case) or not reference or not speedup:
            continue
        label, verdict = run.name(m.case.lane), judge(speedup)
        if (speedup.value > 1) != (seconds(m) < seconds(reference)):
            verdict = OPEN  # paired rounds say one thing, the seconds beside them another: too unquiet to tell
        here, there = si(seconds(m), "s"), si(seconds(reference), "s")
        words = {"label": label, "other": other, "here": here, "there": there, "unit": unit}
        if verdict == FASTER:
            factor = times(speedup)
            told = say("{label} is {factor} as fast as {other} ({here} against {there}{unit})", factor=factor, **words)
        elif verdict == SLOWER:
            factor = times(inverse(speedup))
            told = say("{other} is {factor} as fast as {label} ({there} against {here}{unit})", factor=factor, **words)
        else:
            told = say("{label} and {other} can't be told apart ({here} against {there}{unit})", **words)
        sentences.append(f"{run.what(m.case)}: {told}.{_longest_phase(m, label) if unit else ''}")
    return sentences


def _longest_phase(m: Measurement, label: str) -> str:
    """What a training step on this device spends most of its time with, if that is more than two fifths."""
    mids = {phase: stats.median(seconds).value for phase, seconds in m.learning.phases_s.items()}
    total = sum(mids.values())
    if not total or max(mids.values()) < 0.4 * total:
        return ""
    phase = max(mids, key=mids.get)
    return say(
        " On {label} {share:.0f} % of a step goes into {phase}.",
        label=label,
        share=100 * mids[phase] / total,
        phase=say(PHASE_WORDS.get(phase, phase)),
    )


def about_energy(run: Run) -> str:
    """What the joules of a training cover, or why there are none; empty where the run does not tell."""
    told, sentences = run.settings.get("energy"), []
    for device, meter in told.items() if isinstance(told, Mapping) else ():
        if not isinstance(meter, Mapping):
            continue
        covers, absent = str(meter.get("covers", "")), str(meter.get("absent", ""))
        if absent:
            sentences.append(say("Energy on {device}: absent. {absent}", device=run.label(device), absent=absent))
        elif any(m.learning and m.learning.energy_j for m in run.measurements if m.case.device == device):
            sentences.append(
                say(
                    "Energy on {device} is an estimate of {covers}, idling included.",
                    device=run.label(device),
                    covers=covers,
                )
            )
        elif covers:
            sentences.append(
                say("Energy on {device}: absent. An epoch was too short for the counter.", device=run.label(device))
            )
    return " ".join(sentences)


def _latency(m: Measurement) -> float:
    return m.median_s.value


def _epoch(m: Measurement) -> float:
    return sum(m.learning.epochs_s) / len(m.learning.epochs_s)
