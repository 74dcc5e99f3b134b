"""Numbers in, numbers out: estimates with intervals, speed-ups, drift, fits, crossovers. Knows only NumPy and SciPy."""

from bench.stats.drift import drift
from bench.stats.estimate import LEVEL, Estimate
from bench.stats.ratio import ratio, unpaired_ratio
from bench.stats.summary import FEWEST, geometric_mean, iqr, median

__all__ = ["FEWEST", "LEVEL", "Estimate", "drift", "geometric_mean", "iqr", "median", "ratio", "unpaired_ratio"]
