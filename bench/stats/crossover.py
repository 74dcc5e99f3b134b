"""Crossovers: sizes at which the faster of two devices changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bench.stats.estimate import Estimate
from bench.stats.fit import FEWEST_SIZES, NORMAL, Rounds, _checked, _fit, _model, _Sample


class Crossing(NamedTuple):
    """A size at which the faster device changes."""

    size: Estimate
    candidate_wins: bool  # from there upward


def crossovers(
    sizes: Sequence[float], bytes_moved: Sequence[float], reference: Sequence[Rounds], candidate: Sequence[Rounds]
) -> list[Crossing]:
    """Where the faster of two devices changes, in ascending order of size; empty if nowhere in the measured range.

    All four run over the sizes; round r of one device was measured beside round r of the other, and is resampled with
    it. The interval of a crossing holds every size at which the devices cannot be told apart (test inversion, as in
    Fieller, J. R. Stat. Soc. B 16, 1954): |log of the ratio| within 1.96 standard deviations of its replicas, which
    are stretched as in ``fit_curve``, and of the curves' misfits. A crossing counts if each device is certainly the
    faster one on its side. Between sizes the bytes are interpolated in log-log. What both devices feel in a round
    cancels at a measured size; between the curves it cancels in part, as each smooths over sizes in its own way.

    Where a curve does not describe its device (or below FEWEST_SIZES) the crossing is interpolated in log-log between
    measured sizes, and the interval goes from the last size that is certainly on one side to the first on the other:
    without a model nothing is known in between.

    ValueError as for ``fit_curve``, but two sizes are enough.
    """
    pairs = [(a[: len(b)], b[: len(a)]) for a, b in zip(reference, candidate, strict=True)]
    ours, theirs = _Sample([a for a, _ in pairs]), _Sample([b for _, b in pairs])
    x, w = np.log(np.asarray(sizes, dtype=float)), _checked(bytes_moved, ours, fewest=2)
    if len(x) != len(w) or not (np.diff(x) > 0).all():
        raise ValueError("sizes must ascend, one for each number of bytes")
    if len(x) >= FEWEST_SIZES:
        a, b = (_fit(w, sample, np.random.default_rng(seed)) for seed, sample in enumerate((ours, theirs), 1))
        if a.describes and b.describes:
            fine = np.linspace(x[0], x[-1], 600)
            at = np.exp(np.interp(fine, x, np.log(w)))
            point = (_model(a._point, at)[0] - _model(b._point, at)[0])[0]
            replicas = _model(a._replicas, at)[0] - _model(b._replicas, at)[0]
            variance = ((replicas - point) ** 2).mean(axis=0) + a.misfit**2 + b.misfit**2
            return _changes(fine, point, NORMAL * np.sqrt(variance))
    return _changes(x, ours.mean - theirs.mean, NORMAL * (ours.deviations - theirs.deviations).std(axis=0))


def _changes(x: np.ndarray, gap: np.ndarray, half: np.ndarray) -> list[Crossing]:
    """Crossings of ``gap`` (log of reference over candidate, known within ``half``) along ``x``, the log of size."""
    known = np.flatnonzero(np.abs(gap) > half)
    found = []
    for i, j in pairwise(known):
        if gap[i] * gap[j] < 0:
            turns = i + np.flatnonzero(gap[i:j] * gap[j] < 0)  # still on the old side
            k = next(k for k in turns[len(turns) // 2 :] if gap[k + 1] * gap[j] >= 0)
            root = x[k] - gap[k] * (x[k + 1] - x[k]) / (gap[k + 1] - gap[k])
            found.append(Crossing(Estimate(*(float(np.exp(v)) for v in (root, x[i], x[j]))), bool(gap[j] > 0)))
    return found
