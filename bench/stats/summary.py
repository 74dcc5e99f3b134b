"""Statistics of run times. Pure functions: sequences of seconds in, numbers out.

Run times are skewed, so the middle is the median, the spread is the interquartile
range, and every estimate carries an interval. Nothing here knows PyTorch or Streamlit.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bench.stats.estimate import LEVEL, Estimate

FEWEST = 6  # samples, or rounds, below which no interval reaches it


def iqr(samples: Sequence[float]) -> float:
    """Interquartile range: third quartile minus first, in the samples' unit."""
    q1, q3 = np.quantile(samples, (0.25, 0.75))
    return float(q3 - q1)


def median(samples: Sequence[float]) -> Estimate:
    """Median with the distribution-free interval between two order statistics.

    The k-th smallest and the k-th largest of n samples enclose the true median with probability
    1 - 2 P(Binomial(n, 1/2) < k), whatever the distribution (Conover, Practical Nonparametric
    Statistics, 3rd ed., 3.2). Below six samples no pair reaches 95 %: the whole range is given.
    ValueError if there are no samples.
    """
    if not len(samples):
        raise ValueError("the median of no samples does not exist")
    ordered = np.sort(np.asarray(samples, dtype=float))
    k = _rank(len(ordered))
    return Estimate(float(np.median(ordered)), float(ordered[k - 1]), float(ordered[-k]))


@lru_cache(maxsize=4096)
def _rank(n: int) -> int:
    """The largest k with P(Binomial(n, 1/2) < k) <= (1 - LEVEL) / 2, but at least 1."""
    from scipy.special import bdtr

    below = bdtr(np.arange(n // 2 + 1), n, 0.5)  # P(Binomial <= i)
    return max(1, int(np.searchsorted(below, (1 - LEVEL) / 2, side="right")))


def geometric_mean(values: Sequence[float]) -> float:
    """The way to average speed-ups: their order and reference do not matter."""
    return float(np.exp(np.mean(np.log(values))))
