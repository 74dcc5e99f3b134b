"""A job at a terminal: kept on disk, followed by a bar, its run shown and written to a file."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.cli.progress import follow
from bench.cli.usage import FAILED, OK
from bench.cli.views import run_text
from bench.measure.job import Job, State
from bench.measure.runner import Runner
from bench.records.case import Case
from bench.storage.database import StoreError
from bench.storage.recorder import Recorder
from bench.storage.store import open_store
from bench.storage.writing import to_json
from bench.text.table import to_csv
from bench.text.tell import tell

STOP_S = 4.0  # that a job gets to end after Ctrl-C


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


def carry_out(runner: Runner, job: Job, kind: str, planned: tuple[Case, ...], out: Path | None) -> int:
    """Do the job, show its run and write it to ``out``; the exit code. Ctrl-C keeps what is finished."""
    runner.start(job, kind, planned)
    try:
        snapshot = follow(runner)
    except KeyboardInterrupt:
        print("Stopping after the current block; finished cases are kept.", file=sys.stderr)
        runner.stop()
        snapshot = runner.join(STOP_S)
    for reason in filter(None, (snapshot.notice, snapshot.error)):
        print(tell(reason), file=sys.stderr)
    run = snapshot.run
    if run is None:
        return FAILED
    print(run_text(run))
    if out:
        out.write_bytes(to_csv(run) if out.suffix == ".csv" else to_json(run).encode())
        print(f"Written to {out}")
    return FAILED if run.failures or snapshot.state is not State.DONE else OK
