"""What a job is, what it may do while it runs, and what watchers may know of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from bench.measure.gate import Gate
from bench.records.case import Case
from bench.records.curve import Curve
from bench.records.measurement import Outcome
from bench.records.reason import Reason
from bench.records.run import Run

if TYPE_CHECKING:
    from bench.analysis.spread import Spread
    from bench.records.checkup import Checkup
    from bench.records.device import DeviceInfo


class State(Enum):
    ASLEEP = "asleep"  # torch is not loaded yet
    LOADING = "loading PyTorch"
    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    STOPPED = "stopped"
    BROKEN = "broken"


class Stopped(Exception):
    """Raised inside a job that was told to stop."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a watcher may know; immutable, so safe to read from any thread."""

    state: State = State.ASLEEP
    devices: tuple[DeviceInfo, ...] = ()
    kind: str = ""  # of the job: "sweep", "training", "download"
    planned: tuple[Case, ...] = ()
    current: Case | None = None
    stage: Reason | None = None  # "round 2 of 8"
    samples_s: tuple[float, ...] = ()  # of the current case, so far
    curves: tuple[Curve, ...] = ()  # of a training run
    done: float = 0.0  # fraction of the job
    left_s: float | None = None  # about how long it still takes
    run: Run | None = None  # the last one; grows while it runs
    findings: tuple[Spread | Checkup, ...] = ()  # of a job that makes no run
    notice: Reason | None = None  # why it is not kept on disk, if it is not
    heard_at: float = 0.0  # clock.now() when the job last published something: a device that hangs does not
    error: Reason | None = None  # when BROKEN
    details: str = ""  # a traceback, for whoever has to mend it

    @property
    def active(self) -> bool:
        return self.state in (State.RUNNING, State.STOPPING)

    @property
    def usable(self) -> tuple[DeviceInfo, ...]:
        return tuple(device for device in self.devices if device.usable)


@dataclass
class Control:
    """What a job may do while it runs."""

    devices: dict[str, DeviceInfo]
    gate: Gate
    publish: Callable[..., None]
    stop: threading.Event = field(default_factory=threading.Event)
    lose: Callable[[str, Reason], None] = lambda name, reason: None  # a device that works no more, and why

    def check(self) -> None:
        """Stopped if somebody has asked for it."""
        if self.stop.is_set():
            raise Stopped

    @contextmanager
    def timed(self) -> Iterator[None]:
        """A stretch during which no page is drawn."""
        self.check()
        with self.gate.timed():
            yield


class GrowingRun:
    """A run while a job makes it: published at once, and again with every outcome."""

    def __init__(self, run: Run, control: Control) -> None:
        self.run, self._control = run, control
        control.publish(run=run)

    def add(self, outcome: Outcome) -> None:
        self.run = self.run.with_outcomes(outcome)
        self._control.publish(run=self.run)


Job = Callable[[Control], None]
