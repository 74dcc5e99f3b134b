"""How hard a case is tried: how long, and how precise it has to get."""

from __future__ import annotations

from dataclasses import dataclass

from bench.records.refusal import PlanError


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to try and how precise to get. Times in seconds."""

    name: str
    target: float  # wanted half-width of the median's 95 % interval, relative to the median
    min_rounds: int  # devices alternate over rounds
    max_rounds: int
    round_s: float  # per device and round
    warmup_s: float  # at most; it ends when the device is steady
    min_block_s: float  # a block lasts at least this long
    limit_s: float  # per case; no new round begins after it
    min_samples: int = 10


EFFORTS = {
    "quick": Budget("quick", 0.05, 6, 12, 0.015, 0.2, 1e-3, 10.0),
    "standard": Budget("standard", 0.02, 8, 40, 0.02, 0.5, 2e-3, 30.0),
    "thorough": Budget("thorough", 0.01, 16, 100, 0.06, 1.0, 4e-3, 120.0),
}


SUSTAINED = "sustained"


def sustained(minutes: float) -> Budget:
    """One case without a pause for so long, in rounds of a second: for heat and power limits, not for precision."""
    if not 0.1 <= minutes <= 60:
        raise PlanError("minutes_out_of_range", minutes=f"{minutes:g}")
    seconds = round(60 * minutes)
    return Budget(SUSTAINED, 1.0, seconds, seconds, 1.0, 0.0, 0.02, 10.0 * seconds)
