"""What commands print: a run, a comparison, processes and a check-up, each as a table and what it amounts to."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis import comparison, spread
from bench.analysis.caveats import caveats
from bench.analysis.verdicts import verdicts
from bench.records.checkup import Checkup
from bench.records.device import DeviceInfo
from bench.records.measurement import Failure, Outcome
from bench.records.run import Run
from bench.text.comparison import COLUMNS, differences, rows
from bench.text.tell import MISSING, tell
from bench.text.units import si, significant

MARKS = {True: "ok     ", False: "BAD    ", None: "no word"}
MOST_NAMED = 4  # cases that only one of two runs has


def run_text(run: Run) -> str:
    """Every case of a run, and what they amount to."""
    lines = ["Emulated device: its times are settings, never measurements of real hardware."] if run.emulated else []
    head = ("case", "median", "95 % interval", "article's clock", "speed-up", "status")
    table = [head, *(_row(run, outcome) for outcome in run.outcomes)]
    if not any(m.article_s for m in run.measurements):
        table = [(*row[:3], *row[4:]) for row in table]
    careful = caveats(run) if run.kind in ("sweep", "training") else []
    return "\n".join([*lines, *_columns(table), *map(tell, (*verdicts(run), *careful))])


def _row(run: Run, outcome: Outcome) -> tuple[str, ...]:
    if isinstance(outcome, Failure):
        return str(outcome.case), *[MISSING] * 4, f"failed: {tell(outcome.error)}"
    mid, speedup = outcome.median_s, run.speedup(outcome)
    return (
        str(outcome.case),
        si(mid.value, "s"),
        f"{si(mid.low, 's')} to {si(mid.high, 's')}",
        si(outcome.article_s, "s") if outcome.article_s else MISSING,
        f"{significant(speedup.value)} ×" if speedup else MISSING,
        f"{outcome.status}: {tell(outcome.reason)}" if outcome.reason else outcome.status,
    )


def comparison_text(found: comparison.Comparison, first: str, second: str) -> str:
    """What differs between the machines, every common case, and the sentence; the runs are called by these names."""
    lines = [f"  {what}: {here} | {there}" for what, here, there in differences(found)]
    if lines:
        lines = ["The two runs differ in:", *lines, ""]
    lines += _columns([("case", first, second, *COLUMNS), *rows(found)])
    for cases, name in ((found.only_first, first), (found.only_second, second)):
        if cases:
            lines.append(f"{len(cases)} cases only in {name}: {', '.join(map(str, cases[:MOST_NAMED]))}")
    return "\n".join([*lines, tell(comparison.summary(found, first, second))])


def spread_text(found: Sequence[spread.Spread]) -> str:
    """Every case over the processes, and what they amount to."""
    table = [("case", "fastest process", "slowest", "between", "within")]
    for one in found:
        ends = si(min(one.medians_s), "s"), si(max(one.medians_s), "s")
        table.append((str(one.case), *ends, f"{significant(one.between)} ×", f"{significant(one.within)} ×"))
    return "\n".join([*_columns(table), *map(tell, spread.summary(found, str))])


def checkup_text(checkup: Checkup, devices: Sequence[DeviceInfo]) -> str:
    """Every check of each of these devices."""
    if not checkup.checks:
        return "\nNo accelerator here to check."
    lines = []
    for info in devices:
        table = [(MARKS[v.good], tell(v.name), tell(v.text)) for v in checkup.checks if v.device == info.name]
        if table:
            lines += [f"\n{info.label}: {info.hardware}", *_columns(table)]
    return "\n".join(lines)


def _columns(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
