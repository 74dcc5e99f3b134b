"""Runs one job at a time in one background thread, and publishes snapshots.

The runner does not know who watches it. Only its own thread touches a device or imports torch, and
only that thread replaces the snapshot while a job runs, so a reader needs no lock. A watcher with
heavy work to do (drawing) does it inside ``drawing()``: between two timed stretches, not during one.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from bench.measure import clock
from bench.measure.gate import Gate
from bench.measure.job import Control, Job, Snapshot, State, Stopped
from bench.records.case import Case
from bench.records.reason import Reason, Refused, because, whole_reason_of

if TYPE_CHECKING:
    from bench.records.device import DeviceInfo


class Busy(Refused, RuntimeError):
    """A job is in progress, and there is one at a time."""


class Recorder(Protocol):
    """Keeps what a job publishes. Each method gives a reason where something can't be kept."""

    def job(self, planned: tuple[Case, ...]) -> AbstractContextManager[None]:
        """Brackets a job; raises, with a reason, if another process is measuring."""

    def see(self, changes: dict[str, object]) -> Reason | None:
        """Called with every change of the snapshot, before anybody sees it."""

    def end(self, state: str, error: Reason | None = None) -> Reason | None:
        """The job is "done", "stopped" or "broken"."""


class _Forgetful:
    """Keeps nothing."""

    def job(self, planned: tuple[Case, ...]) -> AbstractContextManager[None]:
        return nullcontext()

    def see(self, changes: dict[str, object]) -> Reason | None:
        return None

    def end(self, state: str, error: Reason | None = None) -> Reason | None:
        return None


def _find_devices() -> tuple[DeviceInfo, ...]:
    from bench.measure.discovery import find_devices

    return find_devices()


class Runner:
    """At most one job at a time; share one runner per process."""

    def __init__(
        self,
        find_devices: Callable[[], tuple[DeviceInfo, ...]] = _find_devices,
        gate: Gate | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._find_devices = find_devices
        self.gate = gate or Gate()
        self._recorder = recorder or _Forgetful()
        self._snapshot = Snapshot()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._quiet = threading.Event()  # set while no job runs
        self._quiet.set()
        self._thread: threading.Thread | None = None
        self._last: dict[str, Snapshot] = {}

    def wake(self) -> None:
        """Load PyTorch and look for devices, in the background; once."""
        with self._lock:
            if self._thread is None:
                self._snapshot = replace(self._snapshot, state=State.LOADING)
                self._quiet.clear()
                self._thread = threading.Thread(target=self._work, name="bench-runner", daemon=True)
                self._thread.start()

    def start(self, job: Job, kind: str, planned: tuple[Case, ...] = ()) -> None:
        """Begin, and return at once. Busy while a job is in progress."""
        self.wake()
        with self._lock:
            if self._snapshot.active:
                raise Busy("run_in_progress")
            self._stop.clear()
            self._quiet.clear()
            before = self._snapshot
            self._last[before.kind] = before
            self._snapshot = Snapshot(
                State.RUNNING, before.devices, kind, planned, stage=because("getting_ready"), heard_at=clock.now()
            )
            self._jobs.put(job)

    def stop(self) -> None:
        """Ask to end after the current block; finished cases are kept."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> Snapshot:
        """Wait until no job runs, at most ``timeout`` seconds."""
        self._quiet.wait(timeout)
        return self.snapshot

    @property
    def snapshot(self) -> Snapshot:
        now = self._snapshot
        if now.state is State.RUNNING and self._stop.is_set():
            return replace(now, state=State.STOPPING)
        return now

    def last(self, kind: str) -> Snapshot | None:
        """The latest job of a kind, running or over; None if there was none."""
        now = self.snapshot
        return now if now.kind == kind else self._last.get(kind)

    def drawing(self) -> AbstractContextManager[bool]:
        """Hold the runner between two timed stretches while the body draws."""
        return self.gate.drawing()

    def _work(self) -> None:
        self._load()
        while True:
            self._run(self._jobs.get())

    def _load(self) -> None:
        try:
            self._end(State.IDLE, devices=self._find_devices())
        except Exception as error:  # shown on the page: without PyTorch nothing can run
            self._end(
                State.BROKEN,
                error=because("torch_not_loaded", error=whole_reason_of(error)),
                details=traceback.format_exc(),
            )

    def _run(self, job: Job) -> None:
        devices = {device.name: device for device in self._snapshot.usable}
        control = Control(devices, self.gate, self._hear, self._stop, self._lose)
        try:
            with self._recorder.job(self._snapshot.planned):
                state, changes = self._carry_out(job, control)
                if notice := self._recorder.end(state.value, changes.get("error")):
                    changes["notice"] = notice
        except Exception as error:  # another process measures; or a bug of ours in what keeps the run
            state, changes = State.BROKEN, _broken(error)
        self._end(state, **changes)

    def _carry_out(self, job: Job, control: Control) -> tuple[State, dict[str, Any]]:
        try:
            job(control)
        except Stopped:
            return State.STOPPED, {}
        except Exception as error:  # a bug of ours, or data that cannot be used: it ends the run visibly
            return State.BROKEN, _broken(error)
        return State.DONE, {"done": 1.0}

    def _end(self, state: State, **changes: Any) -> None:
        with self._lock:
            if self._jobs.empty():  # else a job was asked for while PyTorch was loading: it goes on
                self._publish(state=state, current=None, stage=None, samples_s=(), left_s=None, **changes)
                self._quiet.set()
            else:
                self._publish(**changes)

    def _lose(self, name: str, reason: Reason) -> None:
        found = self._snapshot.devices
        self._publish(devices=tuple(replace(d, usable=False, reason=reason) if d.name == name else d for d in found))

    def _hear(self, **changes: Any) -> None:
        """What a job publishes: first it is kept, then seen."""
        if notice := self._recorder.see(changes):
            changes["notice"] = notice
        self._publish(heard_at=clock.now(), **changes)

    def _publish(self, **changes: Any) -> None:
        self._snapshot = replace(self._snapshot, **changes)


def _broken(error: Exception) -> dict[str, Any]:
    return {"error": whole_reason_of(error), "details": traceback.format_exc()}
