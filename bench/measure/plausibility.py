"""Numbers that can't be, and machines that changed while they were made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench import stats
from bench.machine.ceilings import Ceiling
from bench.records.cost import Cost
from bench.records.reason import Quantity, Reason, because

QUICKEST = 3.0  # calls that do nothing; whatever asks PyTorch for something takes ten
BEYOND_CACHES = 256e6  # bytes; only there does a step's traffic have to come from memory


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


def does_nothing(seconds: float, call_s: float) -> Reason | None:
    """Is a step as quick as a call that does nothing?"""
    if seconds > QUICKEST * call_s:
        return None
    return because("faster_than_a_call", step=Quantity(seconds, "s"), call=Quantity(call_s, "s"))


def drift(rounds: Sequence[Sequence[float]]) -> Reason | None:
    """Did the time change in the middle of a case, and by how much? A reason, or None."""
    factor = stats.drift(rounds)
    if factor is None:
        return None
    if factor > 1:
        return because("became_slower", factor=Quantity(factor, ""))
    return because("became_faster", factor=Quantity(1 / factor, ""))


def clocks_disagree(wall_s: float, events_s: Sequence[float], tolerance: float) -> Reason | None:
    """Wall clock against the device's own events: a reason if they differ by more than ``tolerance``."""
    if not events_s:
        return None
    ratio = float(np.median(events_s)) / wall_s
    if abs(ratio - 1) <= tolerance:
        return None
    return because("clocks_disagree", factor=Quantity(ratio, ""))
