"""Speed-ups: how many times faster one device is than another, measured beside each other or apart."""

from collections.abc import Sequence

import numpy as np

from bench.stats.estimate import LEVEL, Estimate
from bench.stats.summary import FEWEST

MANY = 2000  # samples from which the two in the middle count as one


def ratio(reference: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]]) -> Estimate:
    """How many times faster ``candidate`` is than ``reference``; 1 is equal, above 1 is faster.

    Each argument is a sequence of rounds, each round a sequence of seconds. Round r of one was
    measured beside round r of the other, so what changed between rounds (heat, clock frequency)
    cancels in the ratio of their medians. With six paired rounds or more, the interval is Student's
    on the logarithms of those ratios, widened where rounds resemble their neighbours (a machine's moods
    last longer than a round): such a series is worth only n / (1 + 2 r) independent rounds, r its serial
    correlation at lag 1. A percentile bootstrap of eight rounds would exclude 1 in twice the
    promised number of cases of equal devices; it serves, over all samples (seeded), below six rounds. Where
    either side has fewer than six samples, the interval is the whole range that they allow.
    """
    value = float(np.median(np.concatenate(reference)) / np.median(np.concatenate(candidate)))
    pairs = [(np.median(r), np.median(c)) for r, c in zip(reference, candidate, strict=False)]
    fewest = min(sum(map(len, reference)), sum(map(len, candidate)))
    if len(pairs) >= FEWEST:
        from scipy.special import stdtrit

        logs = np.log([r / c for r, c in pairs])
        worth = max(2.0, len(logs) / (1 + 2 * max(0.0, _serial(logs))))  # independent rounds
        half = stdtrit(worth - 1, (1 + LEVEL) / 2) * logs.std(ddof=1) / np.sqrt(worth)
        low, high = np.exp(logs.mean() - half), np.exp(logs.mean() + half)
    elif fewest < FEWEST:
        first, second = np.concatenate(reference), np.concatenate(candidate)
        low, high = first.min() / second.max(), first.max() / second.min()
    else:
        spread = _medians(np.concatenate(reference), 0) / _medians(np.concatenate(candidate), 1)
        low, high = np.quantile(spread, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, min(float(low), value), max(float(high), value))


def unpaired_ratio(reference: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]]) -> Estimate | None:
    """As ``ratio``, for two series that were not measured beside each other; None with too few samples to know.

    Welch's interval on the logarithms of the rounds' medians (of stretches, where there are fewer than six rounds),
    widened where rounds resemble their neighbours, as in ``ratio``.
    """
    logs = [_stretches(rounds) for rounds in (reference, candidate)]
    if min(map(len, logs)) < FEWEST:
        return None
    from scipy.stats import ttest_ind

    value = float(np.median(np.concatenate(reference)) / np.median(np.concatenate(candidate)))
    if max(np.ptp(log) for log in logs) == 0:
        return Estimate(value, value, value)
    interval = ttest_ind(*logs, equal_var=False).confidence_interval(LEVEL)
    wider = max(1 + 2 * max(0.0, _serial(log)) for log in logs) ** 0.5
    half = (interval.high - interval.low) / 2 * wider
    mid = float(logs[0].mean() - logs[1].mean())
    return Estimate(value, min(value, float(np.exp(mid - half))), max(value, float(np.exp(mid + half))))


def _stretches(rounds: Sequence[Sequence[float]]) -> np.ndarray:
    """Logarithms of the rounds' medians; of eight equal stretches if there are fewer than six rounds."""
    filled: list[Sequence[float]] = [a_round for a_round in rounds if len(a_round)]
    if len(filled) < FEWEST:
        filled = [part.tolist() for part in np.array_split(np.concatenate(rounds), 8) if len(part)]
    return np.log([np.median(a_round) for a_round in filled])


def _serial(values: np.ndarray) -> float:
    """Correlation of a series with itself one place on; of n values it comes out 1/n too small (Kendall 1954)."""
    rest = values - values.mean()
    total = float((rest**2).sum())
    return float((rest[:-1] * rest[1:]).sum()) / total + 1 / len(values) if total > 0 else 0.0


def _medians(samples: np.ndarray, seed: int, resamples: int = 2000) -> np.ndarray:
    """Medians of resamples. Of many samples (a training's batches) those would take gigabytes, and only one place in
    the order is drawn: the k-th of n uniform numbers is Beta(k, n + 1 - k), and a resample's k-th stands there.
    """
    random, n = np.random.default_rng(seed), len(samples)
    if n > MANY:
        places = random.beta((n + 1) / 2, (n + 1) / 2, resamples)
        return np.sort(samples)[(places * n).astype(int)]
    return np.median(samples[random.integers(n, size=(resamples, n))], axis=1)
