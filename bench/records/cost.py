"""What a step costs by arithmetic: what rates and rooflines are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one step costs, by arithmetic rather than by measurement."""

    flops: int  # floating-point operations
    bytes_moved: int  # least memory traffic, bytes: every input read once, every output written once
    items: int = 1  # things processed (products, images)

    @property
    def arithmetic_intensity(self) -> float:
        """FLOP per byte: the x axis of a roofline."""
        return self.flops / self.bytes_moved
