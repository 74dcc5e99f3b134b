"""What a case is, on which lane of a chart it lies, and how hard it is tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bench.registry import CONTIGUOUS, FLOAT32, spoken
from bench.words import say

MOST_THREADS = 1024


class PlanError(ValueError):
    """A plan that cannot be measured: one sentence that says what to do."""


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """The identity of a measurement: this workload, at this size, on this device.

    ``workload`` is "matvec", "mlp/train" or "mlp/infer"; ``size`` is m for an operation and the
    batch size for a network.
    """

    workload: str
    size: int
    device: str
    dtype: str = FLOAT32  # or "autocast-bfloat16": numbers in float32, products in bfloat16
    threads: int = 0  # of the CPU; 0 is PyTorch's own choice
    layout: str = CONTIGUOUS  # of images in memory, or "channels_last"
    compiled: bool = False  # by torch.compile

    def __str__(self) -> str:
        return " · ".join([self.workload, str(self.size), self.device, *self.lane.settings])

    @property
    def lane(self) -> Lane:
        return Lane(self.device, self.dtype, self.threads, self.layout, self.compiled)


class Lane(NamedTuple):
    """What a line of a chart stands for: a device, and how it computes."""

    device: str
    dtype: str = FLOAT32
    threads: int = 0
    layout: str = CONTIGUOUS
    compiled: bool = False

    @property
    def settings(self) -> list[str]:
        """In words, where they are not the usual ones."""
        words = {
            spoken(self.dtype): self.dtype != FLOAT32,
            f"{self.threads} thread{'s' if self.threads > 1 else ''}": self.threads,
            spoken(self.layout): self.layout != CONTIGUOUS,
            "compiled": self.compiled,
        }
        return [word for word, unusual in words.items() if unusual]


AGAIN = "#2"


def again(device: str) -> str:
    """The same device once more, beside itself: "mps#2"."""
    return device + AGAIN


def kind_of(device: str) -> str:
    """The device that PyTorch knows: "mps" for "mps#2"."""
    return device.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to try and how precise to get. Times in seconds."""

    name: str
    target: float  # wanted half-width of the median's 95 % interval, relative to the median
    min_rounds: int  # devices alternate over rounds
    max_rounds: int
    round_s: float  # per device and round
    warmup_s: float  # at most; it ends when the device is steady
    min_block_s: float  # a block lasts at least this long
    limit_s: float  # per case; no new round begins after it
    min_samples: int = 10


EFFORTS = {
    "quick": Budget("quick", 0.05, 6, 12, 0.015, 0.2, 1e-3, 10.0),
    "standard": Budget("standard", 0.02, 8, 40, 0.02, 0.5, 2e-3, 30.0),
    "thorough": Budget("thorough", 0.01, 16, 100, 0.06, 1.0, 4e-3, 120.0),
}


SUSTAINED = "sustained"


def sustained(minutes: float) -> Budget:
    """One case without a pause for so long, in rounds of a second: for heat and power limits, not for precision."""
    if not 0.1 <= minutes <= 60:
        raise PlanError(f"The minutes must be from 0.1 to 60, and {minutes:g} are not.")
    seconds = round(60 * minutes)
    return Budget(SUSTAINED, 1.0, seconds, seconds, 1.0, 0.0, 0.02, 10.0 * seconds)


def check_between(what: str, value: int, low: int, high: int) -> None:
    """PlanError unless ``value`` is a whole number in that range, both ends included."""
    if not isinstance(value, int) or not low <= value <= high:
        raise PlanError(
            say("{what} must be from {low} to {high}, and {value} is not.", what=what, low=low, high=high, value=value)
        )
