"""Runs on disk: each outcome committed before the next case starts, and whatever is asked of them later."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from bench.machine.home import bench_home
from bench.records.case import Case
from bench.records.measurement import Failure, Outcome
from bench.records.reason import Reason, because, whole_reason_of
from bench.records.run import Run
from bench.storage.database import Database, StoreError
from bench.storage.head import COLUMNS, MALFORMED, Head, read_reason, written_reason
from bench.storage.reading import check_run, from_data, from_entry
from bench.storage.writing import compact, plain, to_entry, to_head, writable

RUNNING, DONE, STOPPED, BROKEN, CRASHED = "running", "done", "stopped", "broken", "crashed"
KILLED = because("killed")
# Each step brings a file from the version before to its own; user_version counts them
MIGRATIONS = (
    """
    CREATE TABLE IF NOT EXISTS runs (
        id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL,
        captured_at TEXT NOT NULL, chip TEXT NOT NULL, torch TEXT NOT NULL, what TEXT NOT NULL, devices TEXT NOT NULL,
        emulated INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT 'here', state TEXT NOT NULL, error TEXT NOT NULL
        DEFAULT '', summary TEXT NOT NULL DEFAULT '', planned INTEGER NOT NULL, outcomes INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0, current TEXT NOT NULL DEFAULT '', stage TEXT NOT NULL DEFAULT '',
        deleted INTEGER NOT NULL DEFAULT 0, head TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS runs_by_time ON runs (deleted, captured_at DESC);
    CREATE TABLE IF NOT EXISTS outcomes (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, number INTEGER NOT NULL, entry TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID;
    """,
)
SEARCHED = ("name", "note", "kind", "captured_at", "chip", "torch", "what", "devices")


def open_store(path: Path | None = None) -> Store:
    """The store in this file, else in the program's folder; made if it is not there.

    StoreError if it can't be used: a newer version, a folder that can't be written, a full disk.
    """
    store = Store(path or bench_home() / "runs.db", MIGRATIONS)
    store.prepare()
    return store


@lru_cache(maxsize=8)  # a page asks for the same run at every turn; what is derived from it stays with it
def _read(head: str, entries: tuple[str, ...]) -> Run:
    try:
        run = from_data(json.loads(head) | {"results": []})
        run = run.with_outcomes(*(from_entry(json.loads(entry), f"row {i}") for i, entry in enumerate(entries, 1)))
        check_run(run)
        return run
    except MALFORMED as error:
        raise StoreError("run_unreadable", error=whole_reason_of(error)) from error


class Store(Database):
    """Any thread and process may call any method; each is one transaction."""

    # Recording

    def begin(self, run: Run, planned: Sequence[Case] = (), origin: str = "here", name: str = "") -> str:
        """A new run without outcomes; its id."""
        run_id, settings = uuid.uuid4().hex, run.settings
        networks = settings.get("networks")
        listed = ", ".join(map(str, networks)) if isinstance(networks, list | tuple) else ""
        what = str(settings.get("operation") or listed or run.kind)
        row = {
            "id": run_id,
            "name": name,
            "kind": run.kind,
            "captured_at": run.environment.captured_at,
            "chip": run.environment.chip,
            "torch": run.environment.torch,
            "what": what,
            "devices": ", ".join(map(run.label, run.devices)),
            "emulated": run.emulated,
            "origin": origin,
            "state": RUNNING,
            "planned": len(planned),
            "head": compact(to_head(run)),
        }
        with self.transaction() as db:
            db.execute(
                f"INSERT INTO runs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", plain([*row.values()])
            )
        return run_id

    def about_to(self, run_id: str, case: Case, stage: Reason | None = None, durable: bool = True) -> None:
        """What is measured from now on. Not ``durable``: outlives the program, but not a power cut."""
        with self.transaction(durable) as db:
            db.execute(
                "UPDATE runs SET current = ?, stage = ? WHERE id = ?",
                [compact(plain(case)), written_reason(stage), run_id],
            )

    def add(self, run_id: str, *outcomes: Outcome) -> None:
        """Keep outcomes; those that were there stay."""
        with self.transaction() as db:
            _insert(db, run_id, outcomes)

    def end(self, run_id: str, state: str, error: Reason | None = None, summary: Reason | None = None) -> None:
        """The run is over: DONE, STOPPED, BROKEN or CRASHED."""
        with self.transaction() as db:
            db.execute(
                "UPDATE runs SET state = ?, error = ?, summary = ?, current = '', stage = '' WHERE id = ?",
                [state, written_reason(error), written_reason(summary), run_id],
            )

    def add_file(self, run: Run, name: str, summary: Reason | None = None) -> str:
        """Keep a run that was read from a file, as it is; its id."""
        run_id = self.begin(run, [outcome.case for outcome in run.outcomes], "file", name)
        self.add(run_id, *run.outcomes)
        self.end(run_id, DONE, summary=summary)
        return run_id

    # After a crash

    def unfinished(self) -> list[Head]:
        """Runs that never came to an end, unless another process is measuring right now."""
        with self.transaction() as db:
            found = _heads(db, "state = ? AND deleted = 0", [RUNNING])
        if not found:
            return []
        try:
            with self.claim():
                return found
        except StoreError:  # they are, or one of them is, being measured
            return []

    def recover_all(self) -> list[Head]:
        """Close every run that a crash ended; what they were until then."""
        found = self.unfinished()
        for head in found:
            self.recover(head.id)
        return found

    def recover(self, run_id: str) -> None:
        """Close a run that a crash ended: the case that it was at becomes a failure. Doing it twice changes nothing."""
        with self.transaction() as db:
            for head in _heads(db, "id = ? AND state = ?", [run_id, RUNNING]):
                done = {_case(entry) for (entry,) in db.execute("SELECT entry FROM outcomes WHERE run = ?", [run_id])}
                if head.case and head.case not in done:
                    _insert(db, run_id, [Failure(head.case, KILLED)])
                db.execute("UPDATE runs SET state = ? WHERE id = ?", [CRASHED, run_id])

    # Reading and tending

    def heads(
        self,
        search: str = "",
        deleted: bool = False,
        limit: int = -1,
        tell: Callable[[Reason | None], str] | None = None,
    ) -> list[Head]:
        """Runs, the newest first; those that have every word of ``search``, in the verdict's, too, with ``tell``."""
        columns = (*SEARCHED, "told(summary)") if tell else SEARCHED
        where = ["deleted = ?"]
        values: list[object] = [int(deleted)]
        for word in search.split():
            like = "%" + word.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + "%"
            where.append("(" + " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in columns) + ")")
            values += [like] * len(columns)
        with self.transaction() as db:
            if tell:
                db.create_function("told", 1, lambda kept: tell(read_reason(kept)))
            return _heads(db, " AND ".join(where), values, limit)

    def load(self, run_id: str) -> Run:
        """A whole run. StoreError, which says which row, if it is not there or can't be read."""
        with self.transaction() as db:
            found = db.execute("SELECT head FROM runs WHERE id = ?", [run_id]).fetchone()
            rows = db.execute("SELECT entry FROM outcomes WHERE run = ? ORDER BY number", [run_id]).fetchall()
        if found is None:
            raise StoreError("run_gone")
        return _read(found[0], tuple(entry for (entry,) in rows))

    def rename(self, run_id: str, name: str) -> None:
        self._set(run_id, "name", writable(name.strip()))

    def annotate(self, run_id: str, note: str) -> None:
        self._set(run_id, "note", writable(note.strip()))

    def delete(self, *run_ids: str) -> None:
        """Out of the list; ``restore`` brings them back until ``purge``."""
        for run_id in run_ids:
            self._set(run_id, "deleted", 1)

    def restore(self, *run_ids: str) -> None:
        for run_id in run_ids:
            self._set(run_id, "deleted", 0)

    def purge(self) -> int:
        """Remove deleted runs for good, and give their space back; how many they were."""
        with self.transaction() as db:
            count = db.execute("DELETE FROM runs WHERE deleted = 1").rowcount
        with self.open() as db:
            db.execute("VACUUM")
        return count

    def size_bytes(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _set(self, run_id: str, column: str, value: object) -> None:
        with self.transaction() as db:
            db.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", [value, run_id])


def _heads(db: sqlite3.Connection, where: str, values: Sequence[object], limit: int = -1) -> list[Head]:
    return [
        Head.of_row(row)
        for row in db.execute(
            f"SELECT {COLUMNS} FROM runs WHERE {where} ORDER BY captured_at DESC, rowid DESC LIMIT ?", [*values, limit]
        )
    ]


def _insert(db: sqlite3.Connection, run_id: str, outcomes: Sequence[Outcome]) -> None:
    (number,) = db.execute("SELECT outcomes FROM runs WHERE id = ?", [run_id]).fetchone()
    rows = [(run_id, number + i, compact(to_entry(outcome))) for i, outcome in enumerate(outcomes, 1)]
    failed = sum(isinstance(outcome, Failure) for outcome in outcomes)
    db.executemany("INSERT INTO outcomes (run, number, entry) VALUES (?, ?, ?)", rows)
    db.execute(
        "UPDATE runs SET outcomes = outcomes + ?, failures = failures + ? WHERE id = ?", [len(rows), failed, run_id]
    )


def _case(entry: str) -> Case:
    return Case(**json.loads(entry)["case"])
