"""Numbers in, numbers out: estimates with intervals, speed-ups, fits, crossovers. Knows NumPy and SciPy alone."""

from bench.stats.estimate import LEVEL, Estimate
from bench.stats.ratio import ratio, unpaired_ratio
from bench.stats.summary import FEWEST, geometric_mean, iqr, median

__all__ = ["FEWEST", "LEVEL", "Estimate", "geometric_mean", "iqr", "median", "ratio", "unpaired_ratio"]
