"""TODO."""

import os
import threading

import psutil

from bench.measure import clock

try:
    import resource
except ImportError:  # Windows counts no involuntary switches
    resource = None
CALM_WINDOW_S, CALM_LONGEST_S = 0.05, 0.4
WHO = getattr(resource, "RUSAGE_THREAD", getattr(resource, "RUSAGE_SELF", 0))  # of this thread, where it is told
COUNTED_THREADS = 1 if hasattr(resource, "RUSAGE_THREAD") else os.cpu_count() or 1


def wait_for_calm() -> None:
    """Return once other processes (a browser painting) leave the cores alone, or after CALM_LONGEST_S."""
    me, pause, deadline = psutil.Process(), threading.Event(), clock.now() + CALM_LONGEST_S
    busy = _others(me)
    while clock.now() < deadline:
        pause.wait(CALM_WINDOW_S)
        now = _others(me)
        if now - busy <= 0.2 * CALM_WINDOW_S + 0.005:  # system times have a resolution of 10 ms
            return
        busy = now


def _others(me: psutil.Process) -> float:
    """CPU seconds that all processes but this one have used."""
    every, mine = psutil.cpu_times(), me.cpu_times()
    total = every.user + every.system + getattr(every, "nice", 0.0)  # idle and waiting are not among them
    return total - mine.user - mine.system
