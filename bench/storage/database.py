"""The file under the store: opened, brought up to date, set aside if damaged, and claimed by one process at a time.

SQLite with a write-ahead log and full synchronisation: what was committed is there after a crash of the program,
of the system, or of the power. Every transaction opens the file anew, so that threads share nothing, readers never
hold up the writer, and a fault in one call is not one in the next. A database that is no database is set aside,
never written over; one of a newer version is refused.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path

from bench.machine.home import VARIABLE
from bench.records.reason import Reason, Refused, because, quoted, whole_reason_of

APPLICATION_ID = 0x42656E63  # "Benc": tells our file from another program's
BUSY_S = 10.0  # wait for another process's commit
CHECKED_BYTES = 50e6  # larger files are looked through only on suspicion: it would take seconds at every start


class StoreError(Refused):
    """The store can't do what was asked; the reason says what to do."""


class Database:
    """One file. Any thread and process may call any method."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        self.path, self._steps = path, migrations  # the steps bring a file from one version to the next
        self.notices: list[Reason] = []  # about what was found when it was opened

    def prepare(self) -> None:
        """Make or bring up to date what is in the file; set aside what is no database."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                "folder_not_made", folder=str(self.path.parent), error=error.strerror or str(error), variable=VARIABLE
            ) from error
        try:
            self._migrate()
        except _Damaged as damage:
            self._set_aside(damage.reason)
            self._migrate()
        # while one connection stays open, closing the others does not write the log back each time
        self._keeper = sqlite3.connect(self.path, timeout=BUSY_S, check_same_thread=False)
        self._keeper.execute("PRAGMA user_version").fetchone()

    def close(self) -> None:
        """Write the log back. Methods called later open the file again."""
        self._keeper.close()

    @contextmanager
    def claim(self) -> Iterator[None]:
        """The right to measure, held by one process at a time; it falls with the process, however that ends."""
        from filelock import FileLock, Timeout

        note = self.path.with_suffix(".owner")
        lock = FileLock(self.path.with_suffix(".lock"), timeout=0)
        try:
            lock.acquire()
        except Timeout as held:
            who = because("process_number", number=note.read_text()) if note.exists() else because("nothing")
            raise StoreError("other_program_measures", who=who) from held
        except OSError as error:
            raise StoreError(
                "folder_unwritable", folder=str(self.path.parent), error=error.strerror or str(error)
            ) from error
        try:
            note.write_text(str(os.getpid()))
            yield
        finally:
            lock.release()

    @contextmanager
    def transaction(self, durable: bool = True) -> Iterator[sqlite3.Connection]:
        with self.open(durable) as db, db:
            yield db

    @contextmanager
    def open(self, durable: bool = True) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as db:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                if sys.platform == "darwin" and durable:
                    db.execute("PRAGMA fullfsync = 1")  # fsync alone leaves it in the drive's cache there
                yield db
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not isinstance(error, sqlite3.OperationalError):
                self._suspicion.touch()
            raise _refusal(error, self.path) from error

    def _migrate(self) -> None:
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as db:
                self._bring_up_to_date(db)
        except sqlite3.OperationalError as error:
            raise _refusal(error, self.path) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise _Damaged(whole_reason_of(error)) from error

    def _bring_up_to_date(self, db: sqlite3.Connection) -> None:
        steps = self._steps
        (version,), (owner,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "application_id"))
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if owner != APPLICATION_ID and (tables or version):
            raise _Damaged("foreign_database")
        if version > len(steps):
            raise StoreError("newer_store", path=str(self.path), format=version, known=len(steps), variable=VARIABLE)
        if tables and self._suspicious() and (found := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise _Damaged(quoted(found))
        self._suspicion.unlink(missing_ok=True)
        db.execute("PRAGMA journal_mode = WAL")
        for number, step in enumerate(steps[version:], version + 1):
            mark = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number};"
            db.executescript(f"BEGIN IMMEDIATE; {step} {mark} COMMIT;")

    @property
    def _suspicion(self) -> Path:
        """A file that is there once something could not be read."""
        return self.path.with_suffix(".suspect")

    def _suspicious(self) -> bool:
        log = self.path.with_name(self.path.name + "-wal")
        return self._suspicion.exists() or log.exists() or self.path.stat().st_size < CHECKED_BYTES

    def _set_aside(self, why: Reason) -> None:
        """Under another name, with its log, so that nothing is written over and a new file can begin."""
        day, number = datetime.now(timezone.utc).date().isoformat(), 1
        while (aside := self.path.with_name(f"{self.path.stem}.damaged-{day}-{number}{self.path.suffix}")).exists():
            number += 1
        try:
            for suffix in ("", "-wal", "-shm"):
                part = self.path.with_name(self.path.name + suffix)
                if part.exists():
                    part.rename(aside.with_name(aside.name + suffix))
        except OSError as error:
            raise StoreError("not_set_aside", path=str(self.path), error=error.strerror or str(error)) from error
        self.notices.append(because("store_was_damaged", why=why, aside=aside.name, folder=str(aside.parent)))


class _Damaged(Refused):
    """Not a database of ours, or one that can't be read."""


def _refusal(error: Exception, path: Path) -> StoreError:
    text = str(error)
    if "full" in text:
        return StoreError("disk_full", path=str(path))
    if "readonly" in text or "unable to open" in text:
        return StoreError("store_unwritable", path=str(path), variable=VARIABLE)
    if "locked" in text:
        return StoreError("store_in_use", path=str(path))
    return StoreError("store_unreadable", path=str(path), text=text)
