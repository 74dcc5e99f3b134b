"""What else keeps the machine busy: counters that whoever measures reads before and after a stretch."""

import os

import psutil

try:
    import resource
except ImportError:  # Windows counts no involuntary switches
    resource = None  # type: ignore[assignment]
WHO = getattr(resource, "RUSAGE_THREAD", getattr(resource, "RUSAGE_SELF", 0))  # of this thread, where it is told
COUNTED_THREADS = 1 if hasattr(resource, "RUSAGE_THREAD") else os.cpu_count() or 1  # whose switches are counted


def others_s(me: psutil.Process) -> float:
    """CPU seconds that all processes but this one have used so far, at a resolution of 10 ms."""
    every, mine = psutil.cpu_times(), me.cpu_times()
    total = every.user + every.system + getattr(every, "nice", 0.0)  # idle and waiting are not among them
    return total - mine.user - mine.system


def preempted() -> int:
    """How often so far the system has taken the core away from this thread (this process, where it tells only that).

    0 where it does not tell.
    """
    return resource.getrusage(WHO).ru_nivcsw if resource else 0
