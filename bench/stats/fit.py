"""What a sweep says as a whole: overhead, bandwidth, and the sizes at which the faster device changes.

A step takes ``t = t0 + bytes * c(bytes)``: a fixed cost, then seconds per byte. ``c`` is 1 / bandwidth throughout,
or rises from 1 / fast to 1 / bandwidth where the bytes outgrow a cache: ``c = (1 - miss) / fast + miss / bandwidth``.
``miss`` is the share of the bytes that come from memory. Its forms lie between two ends of what caches do:

* a cache holds on to its share of a stream that is too long for it: ``max(0, 1 - knee / bytes)``
  (Qureshi et al., Adaptive insertion policies, ISCA 2007);
* each byte is thrown out before it is used again, as least-recently-used replacement does, so that all bytes of a
  large step come from memory: ``1 / (1 + (knee / bytes) ** s)``, from blurred (s = 2) to sharp (11).

Pure functions: seconds and bytes in, numbers out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from bench.stats.estimate import LEVEL, Estimate

Rounds = Sequence[Sequence[float]]  # of one size: seconds a step, as in Measurement.by_round

PLAIN, KEPT = 0.0, float("inf")
FORMS = np.array([PLAIN, KEPT, 2.0, 2.7, 3.6, 4.8, 6.4, 8.5, 11.0])  # s, the sharpness, or a name
GRAIN = 0.15  # half the distance between two of them, in logs
RESAMPLES = 200
NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)
LEAST_NOISE = 1e-3  # relative; no clock and no machine is better, and weights need a floor
MISFIT, MISFIT_OF_NOISE = 0.02, 2.0  # a curve further than both from the data does not describe them
FEWEST_SIZES = 5  # for a curve to be judged by its residuals
STARTS = 24  # knees from which a fit sets out; from each of two hundred sizes it would take seconds and find the same
UNSEEN = -7.0  # log of a share of a step's time that no sweep can see


@dataclass(frozen=True)
class Curve:
    """Seconds a step over bytes moved, fitted to one device."""

    t0: Estimate  # seconds; ``low`` is 0 where the data cannot tell it from nothing
    bandwidth: Estimate  # bytes/s, of sizes that no cache holds; ``high`` is inf where the data set no limit
    knee: float | None  # bytes about which a cache ends; None if the data do not ask for one
    fast: float | None  # bytes/s below the knee
    noise: float  # standard error of a typical measured size, relative
    misfit: float  # how far measured sizes lie from the curve beyond their noise, relative (standard deviation)
    _point: np.ndarray = field(repr=False, compare=False)  # (1, 5): form, then as in _model
    _replicas: np.ndarray = field(repr=False, compare=False)  # (RESAMPLES, 5)

    def seconds(self, bytes_moved: Sequence[float]) -> np.ndarray:
        """Predicted seconds a step, same shape (sizes,) as ``bytes_moved``."""
        return np.exp(_model(self._point, np.asarray(bytes_moved, dtype=float))[0][0])

    @property
    def describes(self) -> bool:
        """Do the data lie about the curve as their noise lets one expect?"""
        return self.misfit <= max(MISFIT, MISFIT_OF_NOISE * self.noise)


def fit_curve(bytes_moved: Sequence[float], rounds: Sequence[Rounds]) -> Curve:
    """Fit the form that the corrected Akaike criterion prefers, in log space, weighted by the noise of each size.

    ``bytes_moved`` has shape (sizes,), ascending; ``rounds[i]`` are the rounds of size i, which may differ in number
    and length. A round counts as its median, a size as the mean of its rounds' logarithms. Variance of a size: that
    of its rounds, plus what scatter about the curve is left over (Paule & Mandel, J. Res. NBS 87, 1982), so a curve
    that fits badly gets wide intervals. Criterion and weights: Burnham & Anderson, Model Selection, 2nd ed., 2.4, 2.9.

    Intervals: percentiles of refits to resampled rounds and drawn misfits, each of a form drawn with its Akaike
    weight, as the data seldom tell one kind of cache from another. A plain bootstrap of few rounds is too
    narrow; so deviations are stretched by sqrt(R / (R - 1)) for R rounds (Davison & Hinkley, Bootstrap Methods, 2.3)
    and by Student's over the normal quantile, with R - 1 degrees of freedom (sizes - parameters, for misfits).

    ValueError for fewer than three sizes, sizes that do not ascend, or times that are not positive.
    """
    data = _Sample(rounds)
    return _fit(_checked(bytes_moved, data), data, np.random.default_rng(0))


class _Sample:
    """One device's sweep: location, variance and resampled deviations of the log seconds of each size."""

    def __init__(self, rounds: Sequence[Rounds]) -> None:
        picks = np.random.default_rng(0)  # the same for both devices: paired rounds stay together
        logs = [self._logs(r) for r in rounds]
        self.mean = np.array([y.mean() for y in logs])
        count = np.array([len(y) for y in logs])
        own = np.array([y.var(ddof=1) if len(y) > 1 else np.nan for y in logs])
        typical = np.nanmedian(own) if np.isfinite(own).any() else 0.0
        # half its own, half the typical one: the variance of a few rounds is a poor weight
        self.variance = np.maximum((np.where(np.isnan(own), typical, own) + typical) / 2 / count, LEAST_NOISE**2)
        stretch = [np.sqrt(n / (n - 1)) * _student(n - 1) / NORMAL if n > 1 else 0.0 for n in count]
        drawn = [y[picks.integers(len(y), size=(RESAMPLES, len(y)))].mean(axis=1) for y in logs]
        self.deviations = (np.stack(drawn, axis=1) - self.mean) * stretch  # (RESAMPLES, sizes)

    @staticmethod
    def _logs(rounds: Rounds) -> np.ndarray:
        if len(rounds) == 1:  # its samples are then all that tells of the noise
            rounds = [[s] for s in rounds[0]]
        medians = np.array([np.median(r) for r in rounds])
        if not len(medians) or not (medians > 0).all():
            raise ValueError("every size needs samples, and every sample a positive time")
        return np.log(medians)


def _checked(bytes_moved: Sequence[float], data: _Sample, fewest: int = 3) -> np.ndarray:
    w = np.asarray(bytes_moved, dtype=float)
    if len(w) < fewest or len(w) != len(data.mean) or not (w[0] > 0 and (np.diff(w) > 0).all()):
        raise ValueError(f"needs {fewest} sizes or more, ascending, with rounds for each")
    return w


def _fit(w: np.ndarray, data: _Sample, random: np.random.Generator) -> Curve:
    y, n, extra = data.mean, len(w), 0.0
    forms = FORMS if n > 5 else FORMS[:1]  # the criterion needs more sizes than parameters + 1
    counts = np.where(forms == PLAIN, 2, 4)
    knees = np.log(w[1:-1])[np.linspace(0, n - 3, min(n - 2, STARTS)).round().astype(int)]
    rows = np.array(
        [[f, y.min() - d, y.max() - np.log(w[-1]), -1.0, k] for f in forms for d in (0.7, 3.0) for k in knees]
    )
    for _ in range(3):  # weights depend on the misfit, and it on the fit
        rows, chi2 = _solve(rows, w, y, np.sqrt(data.variance + extra))
        best = [min(np.flatnonzero(rows[:, 0] == f), key=chi2.__getitem__) for f in forms]
        rows, chi2 = rows[best], chi2[best]
        left = [_excess(r, data.variance, n - k) for r, k in zip(y - _model(rows, w)[0], counts, strict=True)]
        if min(left) <= extra:
            break
        extra = min(left)
    criterion = chi2 + 2 * counts + np.array([2 * k * (k + 1) / (n - k - 1) if n > k + 1 else 0.0 for k in counts])
    i = int(criterion.argmin())
    weights, misfit = np.exp((criterion[i] - criterion) / 2), float(np.sqrt(left[i]))
    stretch = misfit * _student(n - counts[i]) / NORMAL
    drawn = y + data.deviations + stretch * random.standard_normal((RESAMPLES, n))
    which = random.choice(len(forms), RESAMPLES, p=weights / weights.sum())
    start = rows[which]
    start[:, 0] *= np.exp(random.uniform(-GRAIN, GRAIN, RESAMPLES))  # plain and kept stay what they are
    replicas, _ = _solve(start, w, drawn, np.sqrt(data.variance + misfit**2), steps=12)
    low, high = np.quantile(replicas[:, 1:3], ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    form, t0, c, share, knee = rows[i]
    (t0_low, c_low), (t0_high, c_high) = np.exp(np.minimum(low, (t0, c))), np.exp(np.maximum(high, (t0, c)))
    t0_least, c_least = np.exp(_limits(w, y)[0][:2] + 0.1)
    return Curve(
        Estimate(float(np.exp(t0)), float(t0_low) if t0_low > t0_least else 0.0, float(t0_high)),
        Estimate(float(np.exp(-c)), float(1 / c_high), float(1 / c_low) if c_low > c_least else float("inf")),
        None if form == PLAIN else float(np.exp(knee)),
        None if form == PLAIN else float(np.exp(-c) * (1 + np.exp(-share))),
        float(np.sqrt(np.median(data.variance))),
        misfit,
        rows[[i]],
        replicas,
    )


def _model(rows: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log seconds (rows, sizes) and their derivatives (rows, sizes, 4).

    A row is a form and four parameters: logs of t0 and of seconds per byte, the logit of bandwidth / fast, the log of
    the knee. Any real numbers make a positive curve that is no faster beyond its cache; plain ignores the last two.
    """
    form, t0, c, share, knee = rows.T[:, :, None]
    plain, kept = form == PLAIN, form == KEPT
    t0, moved, share, over = np.exp(t0) + 0 * w, np.exp(c) * w, 1 / (1 + np.exp(-share)), knee - np.log(w)
    s = np.where(kept, 1.0, form)
    miss = np.where(kept, -np.expm1(np.minimum(over, 0)), 1 / (1 + np.exp(s * over)))
    slope = np.where(kept, np.where(over < 0, miss - 1, 0.0), -s * miss * (1 - miss))
    miss, slope = np.where(plain, 1.0, miss), np.where(plain, 0.0, slope)
    spent = moved * (share + (1 - share) * miss)
    parts = [t0, spent, moved * (1 - miss) * share * (1 - share), moved * (1 - share) * slope]
    return np.log(t0 + spent), np.stack(parts, axis=-1) / (t0 + spent)[..., None]


def _limits(w: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Beyond these a parameter has no visible effect: (low, high), each (4,)."""
    last = np.log(w[-1])
    low = [y.min() + UNSEEN, y.max() - last + UNSEEN, -4.0, np.log(w[1])]
    return np.array(low), np.array([y.max(), y.max() - last + 1, 4.0, np.log(w[-2])])


def _solve(
    rows: np.ndarray, w: np.ndarray, y: np.ndarray, sigma: np.ndarray, steps: int = 40
) -> tuple[np.ndarray, np.ndarray]:
    """Levenberg and Marquardt's least squares for all rows at once, each from where it stands: (rows, chi-squared).

    ``y`` is (sizes,) or (rows, sizes). Two hundred small fits in one go are faster than as many calls of SciPy's.
    """
    low, high = _limits(w, y.reshape(-1, len(w)).mean(axis=0))
    trial = np.column_stack([rows[:, :1], np.clip(rows[:, 1:], low, high)])
    cost, damping = np.full(len(rows), np.inf), np.full(len(rows), 1e-2)
    normal, pull = np.zeros((len(rows), 4, 4)), np.zeros((len(rows), 4, 1))
    for _ in range(steps + 1):
        logs, slopes = _model(trial, w)
        rest, slopes = (y - logs) / sigma, slopes / sigma[:, None]
        trial_cost = (rest**2).sum(axis=1)
        better = trial_cost < cost
        settled = better.any() and (cost - trial_cost < 1e-6 * (1 + trial_cost)).all()
        rows, cost = np.where(better[:, None], trial, rows), np.where(better, trial_cost, cost)
        damping = np.where(better, damping / 5, damping * 5)
        if settled:
            break
        turned = slopes.transpose(0, 2, 1)
        normal = np.where(better[:, None, None], turned @ slopes, normal)
        pull = np.where(better[:, None, None], turned @ rest[..., None], pull)
        raised = np.eye(4) * (damping[:, None] * np.einsum("bkk->bk", normal) + 1e-9)[:, None]
        trial = rows.copy()
        trial[:, 1:] = np.clip(rows[:, 1:] + np.linalg.solve(normal + raised, pull)[..., 0], low, high)
    return rows, cost


def _excess(rest: np.ndarray, variance: np.ndarray, freedom: int) -> float:
    """The variance to add so that the residuals are as large as expected (Paule & Mandel); 0 if they are no larger."""
    low, high = 0.0, float((rest**2).sum()) / max(freedom, 1)
    if freedom < 1 or (rest**2 / variance).sum() <= freedom:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if (rest**2 / (variance + middle)).sum() > freedom else (low, middle)
    return high


def _student(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(freedom, 1), (1 + LEVEL) / 2))
