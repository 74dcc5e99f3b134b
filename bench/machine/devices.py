"""Devices: where a workload runs, how to wait until it has finished, and what is here.

An accelerator runs asynchronously: a call returns before its work is done. Timing code therefore
calls ``synchronize()`` on *the device being measured* before each clock reading. One code path
serves every kind of device: PyTorch gives each a module of the same shape (torch.mps, torch.cuda ...).
Only the runner's thread may call anything here: two threads on MPS crash the process.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import torch

from bench.machine.environment import chip_name
from bench.records.case import kind_of
from bench.records.reason import DeviceRefused, Reason, because, reason_of

FALLBACK = "fall back to run on the CPU"  # in PyTorch's warning when an operator that MPS lacks runs elsewhere
# What a device says when it cannot: out of memory, operator missing, dtype unsupported.
# Anything else is a bug of ours and ends the run.
DEVICE_ERRORS = (RuntimeError, NotImplementedError, TypeError, MemoryError)


class Device:
    """One place to run. Not to be shared between threads."""

    def __init__(self, name: str) -> None:
        self.name = kind_of(name)
        self.torch = torch.device(self.name)
        self.module = torch.get_device_module(self.name)

    def synchronize(self) -> None:
        """Wait until all queued work is done (at once on the CPU)."""
        self.module.synchronize()

    def seconds_by_events(self, step: Callable[[], object], calls: int) -> float | None:
        """Seconds a step by the device's own clock, from one event to another; None where it has none (the CPU)."""
        if self.name == "cpu" or not hasattr(self.module, "Event"):
            return None
        start, end = (self.module.Event(enable_timing=True) for _ in range(2))
        self.synchronize()
        start.record()
        for _ in range(calls):
            step()
        end.record()
        self.synchronize()
        return start.elapsed_time(end) / 1e3 / calls

    def why_broken(self) -> Reason | None:
        """What a device says to the smallest of sums; None if it still works. Some errors are for good."""
        try:
            if (torch.ones(2, device=self.torch) + 1).sum().item() == 4:
                return None
        except DEVICE_ERRORS as error:
            return reason_of(error)
        return because("no_sum")

    def release_memory(self) -> None:
        """Give cached blocks back, so that one case does not starve the next."""
        if hasattr(self.module, "empty_cache"):
            self.module.empty_cache()

    def hardware(self) -> str:
        if self.name == "cpu":
            return chip_name()
        if self.name == "mps":
            return getattr(torch.backends.mps, "get_name", chip_name)()
        return self.module.get_device_name()

    def pool_bytes(self) -> int:
        """What has been taken from the system: by this device's allocator, or by the whole process for the CPU."""
        if self.name == "cpu":
            return psutil.Process().memory_info().rss
        if self.name == "mps":
            return self.module.driver_allocated_memory()
        return self.module.memory_reserved()

    def memory_bytes(self) -> int:
        """What a run may use now, in bytes."""
        if self.name == "cpu":
            return psutil.virtual_memory().available
        if self.name == "mps":
            return self.module.recommended_max_memory() - self.module.driver_allocated_memory()
        return self.module.mem_get_info()[0]


@contextmanager
def fallback_flags() -> Iterator[list[Reason]]:
    """What the body runs on the CPU for want of an operator: a reason for each, there once the body is over.

    PyTorch says so once a process, whichever operator was the first; here every time.
    """
    flags: list[Reason] = []
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            yield flags
    finally:
        torch.set_warn_always(always)
    for text in dict.fromkeys(str(warning.message) for warning in said):
        if FALLBACK in text:
            operator = re.search(r"'(?:\w+::)?([\w.]+)'", text)
            what = because("named_operator", name=operator[1]) if operator else because("some_operator")
            flags.append(because("ran_on_cpu", what=what))


@contextmanager
def cpu_threads(number: int) -> Iterator[None]:
    """So many threads for PyTorch's CPU kernels in the body, in this thread; 0 leaves them. May raise DeviceRefused."""
    before = torch.get_num_threads()
    if number:
        torch.set_num_threads(number)
    try:
        if number and torch.get_num_threads() != number:
            raise DeviceRefused("threads_refused", number=number, used=torch.get_num_threads())
        yield
    finally:
        torch.set_num_threads(before)
