"""What is known of a device without touching it."""

from __future__ import annotations

from dataclasses import dataclass

from bench.records.reason import Reason


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What the rest of the program may know of a device without touching it."""

    name: str  # PyTorch's device string
    label: str  # for people
    hardware: str = ""
    usable: bool = False  # a product on it came out right
    reason: Reason | None = None  # why it is not usable, and what to do
    memory_bytes: int = 0  # that a run may use
    shares_memory: bool = False  # with the CPU, as on Apple Silicon
    flops_per_s: float = 0.0  # rough, of one small product: for planning only, never shown as a result
    bytes_per_s: float = 0.0
    call_s: float = 0.0
    dtypes: tuple[str, ...] = ()  # in which a first product came out
    gaps: tuple[tuple[str, Reason], ...] = ()  # the others, each with the reason
