"""What the numbers of a run depend on, as it is kept with them; the machine is asked one floor above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

UNKNOWN = "unknown"
LABELS = {"cpu": "CPU", "mps": "MPS", "cuda": "CUDA", "xpu": "XPU"}  # for people; the reference first
EMULATED = "emulated"  # in the hardware name of a device that only pretends


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
