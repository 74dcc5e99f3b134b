"""What the numbers depend on and no result shows: machine, versions, threads, switches."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from bench.apple import Mac, power_now, run_tool, this_mac
from bench.words import noted

UNKNOWN = noted("unknown")
LABELS = {"cpu": "CPU", "mps": "MPS", "cuda": "CUDA", "xpu": "XPU"}  # for people; the reference first
EMULATED = "emulated"  # in the hardware name of a device that only pretends


NAMED = {  # fields that may explain a difference, in words
    "chip": "chip", "model": "model", "machine": "architecture", "translated": "run by Rosetta", "cores": "CPU cores",
    "performance_cores": "performance cores", "efficiency_cores": "efficiency cores", "gpu_cores": "GPU cores",
    "platform": "operating system", "python": "Python", "torch": "PyTorch", "blas": "BLAS", "threads": "CPU threads",
    "float32_matmul": "float32 precision", "power": "power", "low_power": "low-power mode",
}  # fmt: skip


@dataclass(frozen=True)
class Environment:
    """Captured once per run in the measuring thread, exported with it. Holds no host or user name."""

    captured_at: str  # ISO 8601, UTC
    platform: str
    chip: str
    machine: str  # "arm64", "x86_64"
    translated: bool  # an x86 Python under Rosetta
    cores: int  # physical, or logical where the system does not tell
    memory_bytes: int
    python: str
    torch: str
    blas: str
    float32_matmul: str  # PyTorch's setting: "highest" is float32, "high" and "medium" may use less
    threads: int  # PyTorch's intra-op threads, read in the thread that measures
    power: str  # "mains", "battery" or "unknown"
    load: float | None  # processes wanting a core over the last minute; None where there is no such figure
    devices: Mapping[str, str]  # device name to hardware name
    variables: Mapping[str, str]  # PYTORCH_*, *_NUM_THREADS and the like
    model: str = ""  # "MacBookPro18,3"; empty where it is not told
    performance_cores: int | None = None
    efficiency_cores: int | None = None
    gpu_cores: int | None = None  # Apple's count
    low_power: str = UNKNOWN  # mode: "on", "off"

    def is_emulated(self, device: str) -> bool:
        return pretends(self.devices.get(device, ""))

    def label(self, device: str) -> str:
        """For people: "MPS", or "MPS (emulated)"."""
        return label_of(device, self.devices.get(device, ""))


def label_of(device: str, hardware: str) -> str:
    """A device's name for people, which says so if the hardware only pretends."""
    kind, _, number = device.partition("#")
    label = LABELS.get(kind, kind.upper()) + (" again" if number else "")
    return f"{label} ({EMULATED})" if pretends(hardware) else label


def pretends(hardware: str) -> bool:
    """Is this the name of a device that is not what it says?"""
    return EMULATED in hardware.lower()


def capture_environment(devices: Mapping[str, str]) -> Environment:
    """Ask the machine. Call it in the thread that measures: PyTorch's thread setting belongs to a thread."""
    import psutil
    import torch

    mac = this_mac() if sys.platform == "darwin" else Mac()
    power, low_power = power_state()
    return Environment(
        captured_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        platform=platform.platform(terse=True),
        chip=chip_name(),
        machine=platform.machine(),
        translated=is_translated(),
        cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        python=platform.python_version(),
        torch=torch.__version__,
        blas=_blas(torch.__config__.show()),
        float32_matmul=torch.get_float32_matmul_precision(),
        threads=torch.get_num_threads(),
        power=power,
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        devices=dict(devices),
        variables={name: value for name, value in sorted(os.environ.items()) if _matters(name)},
        model=mac.model,
        performance_cores=mac.performance_cores,
        efficiency_cores=mac.efficiency_cores,
        gpu_cores=mac.gpu_cores,
        low_power=low_power,
    )


def differences(first: Environment, second: Environment) -> list[tuple[str, str, str]]:
    """What may explain a difference between two runs: what it is, in the first, in the second.

    Left out is what changes by itself (the time, the load, memory to within 1 %), and what one of them does not tell.
    """
    found = [
        (words, _told(a), _told(b))
        for name, words in NAMED.items()
        if (a := getattr(first, name)) != (b := getattr(second, name)) and not {a, b} & {None, "", UNKNOWN}
    ]
    if abs(first.memory_bytes - second.memory_bytes) > 0.01 * max(first.memory_bytes, second.memory_bytes):
        found.append(("memory", *(f"{e.memory_bytes / 2**30:.0f} GiB" for e in (first, second))))
    for name in sorted({*first.devices} & {*second.devices}):
        if first.devices[name] != second.devices[name]:
            found.append((f"{LABELS.get(name, name)} hardware", first.devices[name], second.devices[name]))
    for name in sorted({*first.variables} | {*second.variables}):
        if (a := first.variables.get(name)) != (b := second.variables.get(name)):
            found.append((name, "not set" if a is None else a, "not set" if b is None else b))
    return found


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def chip_name() -> str:
    """ "Apple M1 Pro", "AMD EPYC 7763 64-Core Processor"; "unknown" where the system does not tell."""
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string") or UNKNOWN
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip() or UNKNOWN
    return platform.processor() or UNKNOWN


def is_translated() -> bool:
    """True for an Intel Python that Rosetta runs on Apple Silicon: it can't reach the GPU and is slow."""
    return sys.platform == "darwin" and _sysctl("sysctl.proc_translated") == "1"


def _sysctl(name: str) -> str:
    return run_tool("/usr/sbin/sysctl", "-n", name).strip()


def power_state() -> tuple[str, str]:
    """Source ("mains", "battery" or "unknown") and low-power mode ("on", "off" or "unknown"), now."""
    if sys.platform == "darwin":
        return power_now()
    import psutil

    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is None:
        return UNKNOWN, UNKNOWN
    return ("mains" if battery.power_plugged else "battery"), UNKNOWN


def _matters(variable: str) -> bool:
    if variable.endswith("_DIR"):  # paths stay at home
        return False
    return variable.startswith(("PYTORCH_", "EMULATED_MPS_")) or variable.endswith("_NUM_THREADS")


def _blas(config: str) -> str:
    """The BLAS library from PyTorch's build description, e.g. "accelerate", "mkl", "open"."""
    found = re.search(r"\bBLAS_INFO=(\w+)", config)
    return found[1] if found else UNKNOWN
