"""What a case is, on which variant of a chart it lies, and how hard it is tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bench.records.formats import CONTIGUOUS, FLOAT32, spoken


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
        return " · ".join([self.workload, str(self.size), self.device, *self.variant.settings])

    @property
    def variant(self) -> Variant:
        return Variant(self.device, self.dtype, self.threads, self.layout, self.compiled)


class Variant(NamedTuple):
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
