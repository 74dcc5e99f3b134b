"""Devices: where a workload runs, how to wait until it has finished, and what is here.

An accelerator runs asynchronously: a call returns before its work is done. Timing code therefore
calls ``synchronize()`` on *the device being measured* before each clock reading. One code path
serves every kind of device: PyTorch gives each a module of the same shape (torch.mps, torch.cuda ...).
Only the runner's thread may call anything here: two threads on MPS crash the process.
"""

from __future__ import annotations

import platform
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import psutil
import torch

from bench.cases import kind_of
from bench.environment import LABELS, chip_name, is_translated, label_of
from bench.registry import FORMATS
from bench.timing import time_block
from bench.words import noted

COPY_S, LARGEST_COPY = 2e-3, 256 * 2**20  # a copy that lasts so long tells a bandwidth; bytes at most
FALLBACK = "fall back to run on the CPU"  # in PyTorch's warning when an operator that MPS lacks runs elsewhere
# What a device says when it cannot: out of memory, operator missing, dtype unsupported.
# Anything else is a bug of ours and ends the run.
DEVICE_ERRORS = (RuntimeError, NotImplementedError, TypeError, MemoryError)


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What the rest of the program may know of a device without touching it."""

    name: str  # PyTorch's device string
    label: str  # for people
    hardware: str = ""
    usable: bool = False  # a product on it came out right
    reason: str = ""  # why it is not usable, and what to do
    memory_bytes: int = 0  # that a run may use
    shares_memory: bool = False  # with the CPU, as on Apple Silicon
    flops_per_s: float = 0.0  # rough, of one small product: for planning only, never shown as a result
    bytes_per_s: float = 0.0
    call_s: float = 0.0
    dtypes: tuple[str, ...] = ()  # in which a first product came out
    gaps: tuple[tuple[str, str], ...] = ()  # the others, each with the reason


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

    def why_broken(self) -> str:
        """What a device says to the smallest of sums; empty if it still works. Some errors are for good."""
        try:
            if (torch.ones(2, device=self.torch) + 1).sum().item() == 4:
                return ""
        except DEVICE_ERRORS as error:
            return one_line(error)
        return "1 + 1 is no longer 2 on it"

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
def fallback_flags() -> Iterator[list[str]]:
    """What the body runs on the CPU for want of an operator: a sentence for each, there once the body is over.

    PyTorch says so once a process, whichever operator was the first; here every time.
    """
    flags: list[str] = []
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
            what = noted("The operator {name}", name=operator[1]) if operator else noted("An operator")
            flags.append(noted("{what}, which the device lacks, ran on the CPU instead.", what=what))


def find_devices() -> tuple[DeviceInfo, ...]:
    """Every kind of device, the CPU first, each usable or with the reason why not."""
    return tuple(probe(name) for name in LABELS)


def probe(name: str) -> DeviceInfo:
    """Look for a device, and try a real product on it."""
    info = DeviceInfo(name, LABELS[name])
    if missing := why_missing(name):
        return replace(info, reason=missing)
    try:
        return _try(info)
    except DEVICE_ERRORS as error:
        return replace(
            info,
            reason=noted(
                "{label} is there, but a first product on it failed: {error}", label=info.label, error=one_line(error)
            ),
        )


def _try(info: DeviceInfo) -> DeviceInfo:
    device = Device(info.name)
    a = torch.rand(512, 512, generator=torch.Generator().manual_seed(0))
    b = a.to(device.torch)
    wrong = torch.max(torch.abs((b @ b).cpu().double() - a.double() @ a.double())).item()
    if not wrong < 0.5:  # of values near 128; TF32 is off by at most about 0.1
        return replace(
            info,
            reason=noted(
                "{label} is there, but gave a wrong product (off by {wrong}).", label=info.label, wrong=f"{wrong:.3g}"
            ),
        )
    small = b[:8, :8].contiguous()
    product = min(time_block(lambda: b @ b, device.synchronize, 2).per_step for _ in range(3))
    call = min(time_block(lambda: small + small, device.synchronize, 20).per_step for _ in range(3))
    hardware, gaps = device.hardware(), _gaps(b[:64, :64])
    return replace(
        info,
        label=label_of(info.name, hardware),
        hardware=hardware,
        usable=True,
        memory_bytes=device.memory_bytes(),
        shares_memory=info.name == "mps",
        flops_per_s=2 * 512**3 / product,
        bytes_per_s=_copy_rate(device),
        call_s=call,
        dtypes=tuple(name for name in FORMATS if name not in gaps),
        gaps=tuple(gaps.items()),
    )


def _copy_rate(device: Device) -> float:
    """Bytes a second, read and written, of a copy that lasts long enough to count; a short one tells of launching."""
    size = 16 * 2**20
    while True:
        source = torch.ones(size // 4, device=device.torch)
        target = source.clone()  # written once before it counts: fresh memory is slow
        copy = partial(target.copy_, source)
        seconds = min(time_block(copy, device.synchronize, 2).per_step for _ in range(3))
        if seconds >= COPY_S or size >= LARGEST_COPY:
            return 2 * size / seconds
        size *= 4


def _gaps(a: torch.Tensor) -> dict[str, str]:
    """Number formats that the device refuses, or gets wrong, with what it says."""
    found, exact = {}, a.cpu().double() @ a.cpu().double()
    for name in FORMATS:
        try:
            b = a.to(getattr(torch, name))
            wrong = ((b @ b).cpu().double() - exact).abs().max().item() / exact.abs().max().item()
            if not wrong < 0.05:
                found[name] = noted("a first product was off by {part} %", part=f"{100 * wrong:.0f}")
        except DEVICE_ERRORS as error:
            found[name] = one_line(error)
    return found


@contextmanager
def cpu_threads(number: int) -> Iterator[None]:
    """So many threads for PyTorch's CPU kernels in the body, in this thread; 0 leaves them. RuntimeError if refused."""
    before = torch.get_num_threads()
    if number:
        torch.set_num_threads(number)
    try:
        if number and torch.get_num_threads() != number:
            raise RuntimeError(f"PyTorch did not take {number} threads, it uses {torch.get_num_threads()}.")
        yield
    finally:
        torch.set_num_threads(before)


def why_missing(name: str) -> str:
    """Why a device cannot be used, and what to do; empty if it is there."""
    if name == "cpu":
        return ""
    if name == "mps":
        return _why_no_mps()
    module = getattr(torch, name, None)
    if module is not None and module.is_available():
        return ""
    what = {"cuda": "NVIDIA/ROCm GPU", "xpu": "Intel GPU"}[name]
    return noted("No {what} that this PyTorch ({version}) can use.", what=what, version=torch.__version__)


def _why_no_mps() -> str:
    if torch.backends.mps.is_available():
        return ""
    if sys.platform != "darwin":
        here = {"linux": "Linux", "win32": "Windows"}.get(sys.platform, sys.platform)
        return noted("MPS needs a Mac with Apple Silicon; this is {system}.", system=here)
    if is_translated():
        return noted(
            "This Python is an Intel build run by Rosetta and cannot reach the GPU: install an arm64 Python "
            "and make the virtual environment again with it."
        )
    if platform.machine() != "arm64":
        return noted("MPS needs Apple Silicon; PyTorch no longer supports Intel Macs.")
    if not torch.backends.mps.is_built():
        version = torch.__version__
        return noted("This PyTorch ({version}) was built without MPS: install it again with pip.", version=version)
    release = platform.mac_ver()[0]
    return noted("MPS needs macOS 14 or newer for this PyTorch; this is macOS {version}.", version=release)


def one_line(error: BaseException) -> str:
    """An exception as one sentence: its type only where it has no text."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__
