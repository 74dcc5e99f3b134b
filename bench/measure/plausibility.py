"""Numbers that can't be, and machines that changed while they were made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.machine.ceilings import Ceiling
from bench.records.cost import Cost
from bench.records.reason import Quantity, Reason, because

BEYOND_CACHES = 256e6  # bytes; only there does a step's traffic have to come from memory
DRIFT, DRIFT_ROUNDS = 0.05, 3  # a change of that size, with so many rounds on either side


def impossible(cost: Cost, seconds: float, top: Ceiling) -> Reason | None:
    """Why ``seconds`` a step can't be true; None if they can."""
    flops, traffic = cost.flops / seconds, cost.bytes_moved / seconds
    if top.flops_per_s and flops > top.flops_per_s:
        return because(
            "beyond_arithmetic",
            rate=Quantity(flops, "FLOP/s"),
            most=Quantity(top.flops_per_s, "FLOP/s"),
            basis=top.basis,
        )
    if top.bytes_per_s and cost.bytes_moved > BEYOND_CACHES and traffic > top.bytes_per_s:
        return because(
            "beyond_bandwidth", rate=Quantity(traffic, "B/s"), most=Quantity(top.bytes_per_s, "B/s"), basis=top.basis
        )
    return None


def drift(rounds: Sequence[Sequence[float]]) -> Reason | None:
    """Did the time change in the middle of a case, and by how much? A reason, or None.

    The split of the rounds that parts their medians best; believed only if every round on one side
    is slower than every round on the other.
    """
    medians = np.array([np.median(a_round) for a_round in rounds])
    best = 1.0
    for split in range(DRIFT_ROUNDS, len(medians) - DRIFT_ROUNDS + 1):
        before, after = medians[:split], medians[split:]
        if before.max() < after.min() or after.max() < before.min():
            best = max(best, float(np.median(after) / np.median(before)), key=lambda r: abs(np.log(r)))
    if abs(best - 1) <= DRIFT:
        return None
    if best > 1:
        return because("became_slower", factor=Quantity(best, ""))
    return because("became_faster", factor=Quantity(1 / best, ""))


def clocks_disagree(wall_s: float, events_s: Sequence[float], tolerance: float) -> Reason | None:
    """Wall clock against the device's own events: a reason if they differ by more than ``tolerance``."""
    if not events_s:
        return None
    ratio = float(np.median(events_s)) / wall_s
    if abs(ratio - 1) <= tolerance:
        return None
    return because("clocks_disagree", factor=Quantity(ratio, ""))
