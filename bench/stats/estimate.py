"""A value with its interval: what every statistic here amounts to."""

from typing import NamedTuple

LEVEL = 0.95  # of every interval


class Estimate(NamedTuple):
    """A value with its 95 % confidence interval, all three in the same unit."""

    value: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the value; 0 for a value known exactly."""
        return (self.high - self.low) / 2 / abs(self.value) if self.value else 0.0

    def scaled(self, factor: float) -> "Estimate":
        """In another unit: ``factor`` > 0 times the value and both ends."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)

    def rate_of(self, amount: float) -> "Estimate":
        """``amount`` per this time, e.g. FLOP/s; the ends change places."""
        return Estimate(amount / self.value, amount / self.high, amount / self.low)
