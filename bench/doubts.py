"""Reasons to be careful with a run, a line each; only where there are any."""

from __future__ import annotations

from bench.results import BUSY, CONVERGED, NOISY, TIMED_OUT, UNVERIFIED, Measurement, Run
from bench.units import listed
from bench.words import phrase, retold, say

MOST_NAMED = 4
STATUSES = {  # behind "1 of 9 cases", behind "2 of 9 cases"
    UNVERIFIED: (phrase("is too large to be checked"), phrase("are too large to be checked")),
    NOISY: (phrase("is noisy"), phrase("are noisy")),
    TIMED_OUT: (phrase("is cut short by the time limit"), phrase("are cut short by the time limit")),
}


def doubts(run: Run) -> list[str]:
    """One line for each reason to be careful; none if there is none."""
    lines = []
    struck = {}
    for m in run.measurements:
        if not m.believed:
            struck.setdefault((run.name(m.case.lane), m.reason), []).append(m)
    for (lane, reason), some in struck.items():
        names = listed([run.what(m.case) for m in some], MOST_NAMED)
        why = retold(reason)
        why = why[:1].lower() + why[1:]
        lines.append(
            say("{names} on {lane} is struck out: {why}", names=names, lane=lane, why=why)
            if len(some) == 1
            else say("{names} on {lane} are struck out: {why}", names=names, lane=lane, why=why)
        )
    total = len(run.outcomes)
    for status, (one, many) in STATUSES.items():
        some = [m for m in run.measurements if m.status == status]
        if some:
            names = listed([_name(run, m) for m in some], MOST_NAMED)
            lines.append(
                say(
                    "{some} of {total} cases {what}: {names}.",
                    some=len(some),
                    total=total,
                    what=say(one if len(some) == 1 else many),
                    names=names,
                )
            )
    busy = [m for m in run.measurements if m.status == CONVERGED and m.noise > BUSY]
    if busy and run.kind != "training":
        names = listed([_name(run, m) for m in busy], MOST_NAMED)
        lines.append(say("Samples scatter widely (the machine was probably busy) at {names}.", names=names))
    for flag in dict.fromkeys(flag for m in run.measurements for flag in m.flags):
        names = [_name(run, m) for m in run.measurements if flag in m.flags]
        lines.append(f"{listed(names, 3)}: {retold(flag)}")
    if run.environment.variables.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") not in ("", "0"):
        lines.append(say("PYTORCH_ENABLE_MPS_FALLBACK is set: operators that MPS lacks run on the CPU unseen."))
    if run.environment.translated:
        lines.append(
            say("This Python is an Intel build run by Rosetta; everything on the CPU is slower than it need be.")
        )
    return lines


def _name(run: Run, m: Measurement) -> str:
    return say("{what} on {lane}", what=run.what(m.case), lane=run.name(m.case.lane))
