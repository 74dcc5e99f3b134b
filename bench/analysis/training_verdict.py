"""The result of trainings as sentences: which device, how much faster, where a step's time goes, what it used up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench import stats
from bench.analysis.sweep_verdict import OPEN, SLOWER, inverse, judge, the
from bench.records.measurement import Measurement
from bench.records.run import Run
from bench.text.language import retold, translatable, translate
from bench.text.units import si, times

NOTICED = 1.1  # times: who divides the seconds of a sentence expects its factor within so much
PHASE_WORDS = {
    "loading": translatable("taking the batch from memory"),
    "copy": translatable("copying it to the device"),
    "forward": translatable("the forward pass"),
    "backward": translatable("the backward pass"),
    "optimiser": translatable("the optimiser"),
}


def of_training(run: Run) -> list[str]:
    """For each training on each variant but the reference: how fast, and what a step spends most of its time with."""
    return [
        " ".join(filter(None, (_against(run, m, _epoch, _an_epoch), _longest_phase(m, run.name(m.case.variant)))))
        for m in _compared(run)
        if m.case.workload.endswith("/train")
    ]


def of_singles(run: Run) -> list[str]:
    """The same for single images: the latency."""
    return [
        _against(run, m, _latency, lambda time, agrees: time)
        for m in _compared(run)
        if m.case.workload.endswith("/infer") and m.case.size == 1
    ]


def _compared(run: Run) -> list[Measurement]:
    return [m for m in run.measurements if run.reference_of(m) and run.speedup(m)]


def _an_epoch(time: str, agrees: bool) -> str:
    """Whole epochs hold interruptions, which the factor, of medians of batches, is free of: said where it shows."""
    if agrees:
        return translate("{time} an epoch", time=time)
    return translate("{time} an epoch, interruptions and all", time=time)


def _against(
    run: Run, m: Measurement, seconds: Callable[[Measurement], float], unit: Callable[[str, bool], str]
) -> str:
    """One case against the same on the reference; the second of the two times carries the unit."""
    reference, speedup = run.reference_of(m), run.speedup(m)
    label, other = run.name(m.case.variant), the(run, run.reference_variant)
    verdict = judge(speedup)
    if (speedup.value > 1) != (seconds(m) < seconds(reference)):
        verdict = OPEN  # paired rounds say one thing, the seconds beside them another: too unquiet to tell
    agrees = speedup.low / NOTICED <= seconds(reference) / seconds(m) <= speedup.high * NOTICED
    here, there = si(seconds(m), "s"), si(seconds(reference), "s")
    words = {"what": run.what(m.case), "here": here, "there": unit(there, agrees)}
    if verdict == OPEN:
        return translate(
            "{what}: {label} and {other} can't be told apart ({here} against {there}).",
            label=label,
            other=other,
            **words,
        )
    if verdict == SLOWER:
        label, other, speedup = other, label, inverse(speedup)
        words |= {"here": there, "there": unit(here, agrees)}
    return translate(
        "{what}: {label} is {factor} as fast as {other} ({here} against {there}).",
        label=label,
        other=other,
        factor=times(speedup),
        **words,
    )


def _longest_phase(m: Measurement, label: str) -> str:
    """What a training step on this device spends most of its time with, if that is more than two fifths."""
    mids = {phase: stats.median(seconds).value for phase, seconds in m.learning.phases_s.items()}
    total = sum(mids.values())
    if not total or max(mids.values()) < 0.4 * total:
        return ""
    phase = max(mids, key=mids.get)
    return translate(
        "On {label} {share:.0f}\N{NO-BREAK SPACE}% of a step goes into {phase}.",
        label=label,
        share=100 * mids[phase] / total,
        phase=translate(PHASE_WORDS.get(phase, phase)),
    )


def about_energy(run: Run) -> str:
    """What the joules of a training cover, or why there are none; empty where the run does not tell."""
    told, sentences = run.settings.get("energy"), []
    for device, meter in told.items() if isinstance(told, Mapping) else ():
        if not isinstance(meter, Mapping):
            continue
        covers, absent = str(meter.get("covers", "")), str(meter.get("absent", ""))
        if absent:
            sentences.append(
                translate("Energy on {device}: absent. {absent}", device=run.label(device), absent=retold(absent))
            )
        elif any(m.learning and m.learning.energy_j for m in run.measurements if m.case.device == device):
            sentences.append(
                translate(
                    "Energy on {device} is an estimate of {covers}, idling included.",
                    device=run.label(device),
                    covers=retold(covers),
                )
            )
        elif covers:
            sentences.append(
                translate(
                    "Energy on {device}: absent. An epoch was too short for the counter.", device=run.label(device)
                )
            )
    return " ".join(sentences)


def _latency(m: Measurement) -> float:
    return m.median_s.value


def _epoch(m: Measurement) -> float:
    return sum(m.learning.epochs_s) / len(m.learning.epochs_s)
