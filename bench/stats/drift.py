"""Drift: did a time change for good while it was measured?"""

from collections.abc import Sequence

import numpy as np

DRIFT, DRIFT_ROUNDS = 0.05, 3  # a change of that size, with so many rounds on either side


def drift(rounds: Sequence[Sequence[float]]) -> float | None:
    """By what factor the seconds changed in the middle of a case; above 1 it became slower. None if they did not.

    The split of the rounds that parts their medians best; believed only if every round on one side
    is slower than every round on the other.
    """
    medians = np.array([np.median(a_round) for a_round in rounds])
    best = 1.0
    for split in range(DRIFT_ROUNDS, len(medians) - DRIFT_ROUNDS + 1):
        before, after = medians[:split], medians[split:]
        if before.max() < after.min() or after.max() < before.min():
            best = max(best, float(np.median(after) / np.median(before)), key=lambda r: abs(np.log(r)))
    return best if abs(best - 1) > DRIFT else None
