"""The result of trainings: which device, how much faster, where a step's time goes, what it used up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench import stats
from bench.analysis.sweep_verdict import OPEN, SLOWER, inverse, judge
from bench.records.measurement import Measurement
from bench.records.reason import Figure, Quantity, Reason, because
from bench.records.run import Run

NOTICED = 1.1  # times: who divides the seconds of a sentence expects its factor within so much
PHASES = {  # of a step: the kind that tells it
    "loading": "phase_loading",
    "copy": "phase_copy",
    "forward": "phase_forward",
    "backward": "phase_backward",
    "optimiser": "phase_optimiser",
}


def of_training(run: Run) -> list[Reason]:
    """For each training on each variant but the reference: how fast, and what a step spends most of its time with."""
    found = []
    for m in _compared(run):
        if m.case.workload.endswith("/train"):
            verdict, phase = _against(run, m, _epoch, _an_epoch), _longest_phase(run, m)
            found.append(because("with_phase", verdict=verdict, phase=phase) if phase else verdict)
    return found


def of_singles(run: Run) -> list[Reason]:
    """The same for single images: the latency."""
    return [
        _against(run, m, _latency, lambda time, agrees: time)
        for m in _compared(run)
        if m.case.workload.endswith("/infer") and m.case.size == 1
    ]


def _compared(run: Run) -> list[Measurement]:
    return [m for m in run.measurements if run.reference_of(m) and run.speedup(m)]


def _an_epoch(time: Quantity, agrees: bool) -> Figure:
    """Whole epochs hold interruptions, which the factor, of medians of batches, is free of: said where it shows."""
    return because("time_an_epoch" if agrees else "time_with_interruptions", time=time)


def _against(
    run: Run,
    m: Measurement,
    seconds: Callable[[Measurement], float],
    unit: Callable[[Quantity, bool], Figure],
) -> Reason:
    """One case against the same on the reference; the second of the two times carries the unit."""
    reference, speedup = run.reference_of(m), run.speedup(m)
    assert reference is not None and speedup is not None  # _compared has seen to it
    label, other = run.variant_figure(m.case.variant), run.the_variant_figure(run.reference_variant)
    verdict = judge(speedup)
    if (speedup.value > 1) != (seconds(m) < seconds(reference)):
        verdict = OPEN  # paired rounds say one thing, the seconds beside them another: too unquiet to tell
    agrees = speedup.low / NOTICED <= seconds(reference) / seconds(m) <= speedup.high * NOTICED
    here, there = Quantity(seconds(m), "s"), Quantity(seconds(reference), "s")
    what = run.case_figure(m.case)
    if verdict == OPEN:
        return because("trained_alike", what=what, label=label, other=other, here=here, there=unit(there, agrees))
    if verdict == SLOWER:
        label, other, speedup, here, there = other, label, inverse(speedup), there, here
    return because(
        "trained_faster", what=what, label=label, other=other, factor=speedup, here=here, there=unit(there, agrees)
    )


def _longest_phase(run: Run, m: Measurement) -> Reason | None:
    """What a training step on this device spends most of its time with, if that is more than two fifths."""
    if m.learning is None:
        return None
    mids = {phase: stats.median(seconds).value for phase, seconds in m.learning.phases_s.items()}
    total = sum(mids.values())
    if not total or max(mids.values()) < 0.4 * total:
        return None
    phase = max(mids, key=lambda name: mids[name])
    return because(
        "longest_phase",
        label=run.variant_figure(m.case.variant),
        share=round(100 * mids[phase] / total),
        phase=because(PHASES[phase]) if phase in PHASES else phase,
    )


def about_energy(run: Run) -> list[Reason]:
    """What the joules of a training cover, or why there are none; nothing where the run does not tell."""
    meters, found = run.settings.get("energy"), []
    for device, meter in meters.items() if isinstance(meters, Mapping) else ():
        if not isinstance(meter, Mapping):
            continue
        covers, absent = _reason(meter.get("covers")), _reason(meter.get("absent"))
        if absent:
            found.append(because("energy_absent", device=run.label(device), absent=absent))
        elif any(m.learning and m.learning.energy_j for m in run.measurements if m.case.device == device):
            found.append(because("energy_estimate", device=run.label(device), covers=covers or because("nothing")))
        elif covers:
            found.append(because("energy_epoch_too_short", device=run.label(device)))
    return found


def _reason(value: object) -> Reason | None:
    """As a run's settings keep it; a file from elsewhere may hold anything there."""
    try:
        return Reason.from_plain(value)
    except ValueError:
        return None


def _latency(m: Measurement) -> float:
    return m.median_s.value


def _epoch(m: Measurement) -> float:
    """Mean seconds of an epoch."""
    assert m.learning is not None  # of a network
    return sum(m.learning.epochs_s) / len(m.learning.epochs_s)
