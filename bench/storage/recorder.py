"""Keeps what a job publishes on disk while it runs: each outcome before the next case starts.

The runner tells it every change before anybody sees it. What can't be written costs the run nothing:
it goes on in memory, and the reason is said once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from bench.analysis.verdicts import verdicts
from bench.records.case import Case
from bench.records.reason import Reason, because
from bench.records.run import Run
from bench.storage.database import StoreError

if TYPE_CHECKING:
    from bench.storage.store import Store


class Recorder:
    """One per process; ``job`` brackets what is kept as one run."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._forget(())

    def _forget(self, planned: tuple[Case, ...]) -> None:
        """Nothing of a job is known yet but its plan."""
        self._planned = planned
        self._run_id = ""
        self._run: Run | None = None  # as far as it is kept
        self._now: Case | None = None
        self._known: set[Case] = set()
        self._given_up = False

    @contextmanager
    def job(self, planned: tuple[Case, ...]) -> Iterator[None]:
        """Nobody else measures meanwhile. StoreError if another process does."""
        with self._store.claim() if planned else nullcontext():  # a download measures nothing
            self._forget(planned)
            yield

    def see(self, changes: dict[str, object]) -> Reason | None:
        """Write what is new of these changes of a snapshot. A reason if nothing can be written any more."""
        if self._given_up:
            return None
        try:
            if isinstance(run := changes.get("run"), Run):
                self._save(run)
            case = changes.get("current")
            if isinstance(case, Case) and case != self._now and self._run_id:
                self._store.about_to(self._run_id, case, _stage(changes), case not in self._known)
                self._known.add(case)
                self._now = case
        except StoreError as error:
            return self._give_up(error)
        return None

    def end(self, state: str, error: Reason | None = None) -> Reason | None:
        """The job is over: "done", "stopped" or "broken". A reason if that can't be written."""
        if self._given_up or not self._run_id:
            return None
        try:
            self._store.end(self._run_id, state, error=error, summary=summary(self._run) if self._run else None)
        except StoreError as failed:
            return self._give_up(failed)
        return None

    def _save(self, run: Run) -> None:
        if not self._run_id:
            self._run_id = self._store.begin(run, self._planned)
        if new := run.outcomes[len(self._run.outcomes) if self._run else 0 :]:
            self._store.add(self._run_id, *new)
        self._run = run

    def _give_up(self, error: StoreError) -> Reason:
        self._given_up = True
        return because("kept_in_memory", why=error.reason)


def _stage(changes: Mapping[str, object]) -> Reason | None:
    stage = changes.get("stage")
    return stage if isinstance(stage, Reason) else None


def summary(run: Run) -> Reason | None:
    """The first of a run's verdicts, for a list of runs."""
    return next(iter(verdicts(run)), None)
