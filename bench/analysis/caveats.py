"""Reasons to be careful with a run, a line each; only where there are any."""

from __future__ import annotations

from bench.records.measurement import BUSY, CONVERGED, NOISY, TIMED_OUT, UNVERIFIED, Measurement
from bench.records.run import Run
from bench.text.language import retold, translatable, translate
from bench.text.units import listed

MOST_NAMED = 4
STATUSES = {  # behind "1 of 9 cases", behind "2 of 9 cases"
    UNVERIFIED: (translatable("is too large to be checked"), translatable("are too large to be checked")),
    NOISY: (translatable("is noisy"), translatable("are noisy")),
    TIMED_OUT: (translatable("is cut short by the time limit"), translatable("are cut short by the time limit")),
}


def caveats(run: Run) -> list[str]:
    """One line for each reason to be careful; none if there is none."""
    lines = []
    struck = {}
    for m in run.measurements:
        if not m.believed:
            struck.setdefault((run.name(m.case.variant), m.reason), []).append(m)
    for (variant, reason), some in struck.items():
        names = listed([run.what(m.case) for m in some], MOST_NAMED)
        why = retold(reason)
        why = why[:1].lower() + why[1:]
        lines.append(
            translate("{names} on {variant} is struck out: {why}", names=names, variant=variant, why=why)
            if len(some) == 1
            else translate("{names} on {variant} are struck out: {why}", names=names, variant=variant, why=why)
        )
    total = len(run.outcomes)
    for status, (one, many) in STATUSES.items():
        some = [m for m in run.measurements if m.status == status]
        if some:
            names = listed([_name(run, m) for m in some], MOST_NAMED)
            lines.append(
                translate(
                    "{some} of {total} cases {what}: {names}.",
                    some=len(some),
                    total=total,
                    what=translate(one if len(some) == 1 else many),
                    names=names,
                )
            )
    busy = [m for m in run.measurements if m.status == CONVERGED and m.noise > BUSY]
    if busy and run.kind != "training":
        names = listed([_name(run, m) for m in busy], MOST_NAMED)
        lines.append(translate("Samples scatter widely (the machine was probably busy) at {names}.", names=names))
    for flag in dict.fromkeys(flag for m in run.measurements for flag in m.flags):
        names = [_name(run, m) for m in run.measurements if flag in m.flags]
        lines.append(f"{listed(names, 3)}: {retold(flag)}")
    if run.environment.variables.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") not in ("", "0"):
        lines.append(translate("PYTORCH_ENABLE_MPS_FALLBACK is set: operators that MPS lacks run on the CPU unseen."))
    if run.environment.translated:
        lines.append(
            translate("This Python is an Intel build run by Rosetta; everything on the CPU is slower than it need be.")
        )
    return lines


def _name(run: Run, m: Measurement) -> str:
    return translate("{what} on {variant}", what=run.what(m.case), variant=run.name(m.case.variant))
