"""Runs at a terminal: kept on disk, followed by a bar, and told as a table and sentences."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.analysis import spread as spreads
from bench.analysis.caveats import caveats
from bench.analysis.comparison import Comparison, summary
from bench.analysis.spread import Spread
from bench.analysis.verdicts import verdicts
from bench.cli.usage import FAILED, OK, UsageError
from bench.measure.device_checks import check_every
from bench.measure.job import Job, Snapshot, State
from bench.measure.runner import Runner
from bench.records.case import Case
from bench.records.measurement import Failure, Measurement
from bench.records.run import Run
from bench.storage.recorder import Recorder
from bench.storage.store import StoreError, open_store
from bench.storage.writing import to_json
from bench.text.comparison import COLUMNS, differences, rows
from bench.text.evidence import to_send
from bench.text.table import to_csv
from bench.text.tell import tell
from bench.text.units import duration, si, significant

if TYPE_CHECKING:
    from bench.records.device import DeviceInfo


def check_out(out: Path | None) -> None:
    """Before measuring for minutes: can the file be written, and is its kind known?"""
    if out is None:
        return
    if out.suffix not in (".json", ".csv"):
        raise UsageError(f"--out must end in .json or .csv, and {out.name} does not.")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise UsageError(f"--out: there is no folder {out.absolute().parent} to write {out.name} into.")
    try:
        with out.open("a"):
            pass
    except OSError as error:
        raise UsageError(f"--out: {out} cannot be written ({error.strerror}).") from error
    if out.stat().st_size == 0:
        out.unlink()  # only tried


def carry_out(runner: Runner, job: Job, kind: str, planned: tuple[Case, ...], out: Path | None) -> int:
    runner.start(job, kind, planned)
    try:
        snapshot = _wait(runner)
    except KeyboardInterrupt:
        print("Stopping after the current block; finished cases are kept.", file=sys.stderr)
        runner.stop()
        snapshot = runner.join(4.0)
    run = snapshot.run
    for text in filter(None, (snapshot.notice, snapshot.error)):
        print(tell(text), file=sys.stderr)
    if run is None:
        return FAILED
    print(_table(run))
    for line in _sentences(run):
        print(line)
    if out:
        out.write_bytes(to_csv(run) if out.suffix == ".csv" else to_json(run).encode())
        print(f"Written to {out}")
    return FAILED if run.failures or snapshot.state is not State.DONE else OK


def recording_runner() -> Runner:
    """A runner that keeps its runs on disk; where that can't be, it says so and goes on."""
    try:
        store = open_store()
        for notice in store.notices:
            print(tell(notice), file=sys.stderr)
        for head in store.recover_all():
            at = f" while {head.case} was measured" if head.case else ""
            print(f"An earlier run ended abruptly{at}; {head.outcomes} of its cases are kept.", file=sys.stderr)
        return Runner(recorder=Recorder(store))
    except StoreError as error:
        print(f"{tell(error.reason)} This run is not kept on disk.", file=sys.stderr)
        return Runner()


def _wait(runner: Runner) -> Snapshot:
    """Show a progress bar, on a terminal, until the run is over."""
    from tqdm import tqdm

    form = "{desc} |{bar}| {percentage:3.0f} % {postfix}"
    with tqdm(total=1.0, bar_format=form, disable=not sys.stderr.isatty(), leave=False) as bar:
        while (snapshot := runner.join(0.5)).active:
            bar.n = snapshot.done
            bar.set_description_str(f"{snapshot.current or ''} · {tell(snapshot.stage)}"[:60])
            bar.set_postfix_str(f"about {duration(snapshot.left_s)} left" if snapshot.left_s else "")
    return snapshot


def _table(run: Run) -> str:
    """For people at a terminal."""
    lines = ["Emulated device: its times are settings, never measurements of real hardware."] if run.emulated else []
    head = ("case", "median", "95 % interval", "article's clock", "speed-up", "status")
    rows = [head, *(_line(run, outcome) for outcome in run.outcomes)]
    if not any(m.article_s for m in run.measurements):
        rows = [(*row[:3], *row[4:]) for row in rows]
    return "\n".join([*lines, *_columns(rows)])


def _sentences(run: Run) -> list[str]:
    """What the table amounts to."""
    careful = caveats(run) if run.kind in ("sweep", "training") else []
    return [tell(reason) for reason in (*verdicts(run), *careful)]


def _line(run: Run, outcome: Measurement | Failure) -> tuple[str, ...]:
    if isinstance(outcome, Failure):
        return str(outcome.case), "–", "–", "–", "–", f"failed: {tell(outcome.error)}"
    mid, speedup = outcome.median_s, run.speedup(outcome)
    return (
        str(outcome.case),
        si(mid.value, "s"),
        f"{si(mid.low, 's')} to {si(mid.high, 's')}",
        si(outcome.article_s, "s") if outcome.article_s else "–",
        f"{significant(speedup.value)} ×" if speedup else "–",
        f"{outcome.status}: {tell(outcome.reason)}" if outcome.reason else outcome.status,
    )


def comparison_text(comparison: Comparison, first: str, second: str) -> str:
    """What differs between the machines, every common case, and the sentence."""
    lines = [f"{what}: {a} | {b}" for what, a, b in differences(comparison)]
    if lines:
        lines = ["The two runs differ in:", *(f"  {line}" for line in lines), ""]
    lines += _columns([("case", first, second, *COLUMNS), *rows(comparison)])
    for cases, name in ((comparison.only_first, first), (comparison.only_second, second)):
        if cases:
            lines.append(f"{len(cases)} cases only in {name}: {', '.join(map(str, cases[:4]))}")
    return "\n".join([*lines, tell(summary(comparison, first, second))])


def spread_text(found: Sequence[Spread]) -> str:
    """Every case over the processes, and the sentence."""
    rows = [("case", "fastest process", "slowest", "between", "within")]
    for spread in found:
        low, high = min(spread.medians_s), max(spread.medians_s)
        factors = (f"{significant(spread.between)} ×", f"{significant(spread.within)} ×")
        rows.append((str(spread.case), si(low, "s"), si(high, "s"), *factors))
    return "\n".join([*_columns(rows), *map(tell, spreads.summary(found, str))])


def check_all(devices: Sequence[DeviceInfo], out: Path | None) -> bool:
    """The checks of every usable accelerator; whether none was bad."""
    usable = [info for info in devices if info.usable]
    checkup = check_every(usable, lambda name: print("…", tell(name), file=sys.stderr))
    marks = {True: "ok     ", False: "BAD    ", None: "no word"}
    for info in usable:
        rows = [(marks[v.good], tell(v.name), tell(v.text)) for v in checkup.checks if v.device == info.name]
        if rows:
            print("\n".join([f"\n{info.label}: {info.hardware}", *_columns(rows)]))
    if not checkup.checks:
        print("\nNo accelerator here to check.")
    if out:
        out.write_text(to_send(checkup), encoding="utf-8")
        print(f"Written to {out}: attach it to a report.")
    return all(verdict.good is not False for verdict in checkup.checks)


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
