"""How much the medians of the same cases differ between processes; within one nobody can see that."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.records.case import Case
from bench.records.reason import Figure, Quantity, Reason, because
from bench.stats.estimate import Estimate

Medians = dict[Case, Estimate]  # of one process
LARGEST_SPREAD = 1.1  # between processes: more than that is worth a warning


@dataclass(frozen=True, slots=True)
class Spread:
    """One case over all processes; factors, 1 is none."""

    case: Case
    medians_s: tuple[float, ...]  # one a process
    between: float  # largest over smallest median
    within: float  # the widest interval of a single process, its upper over its lower end


def spreads(processes: Sequence[Medians]) -> list[Spread]:
    """Every case that all of them believe, in the first one's order."""
    found = []
    for case in processes[0] if processes else ():
        if all(case in medians for medians in processes):
            mids = [medians[case] for medians in processes]
            values = tuple(mid.value for mid in mids)
            within = max(mid.high / mid.low for mid in mids)
            found.append(Spread(case, values, max(values) / min(values), within))
    return found


def summary(found: Sequence[Spread], named: Callable[[Case], Figure]) -> list[Reason]:
    """What the processes amount to; ``named`` gives a case as a figure."""
    if not found:
        return [because("nothing_in_every_process")]
    typical = math.exp(float(np.mean([math.log(spread.between) for spread in found])))
    worst = max(found, key=lambda spread: spread.between)
    told = because(
        "processes_differ",
        processes=len(worst.medians_s),
        typical=Quantity(typical, ""),
        between=Quantity(worst.between, ""),
        case=named(worst.case),
        within=Quantity(worst.within, ""),
    )
    careful = worst.between > LARGEST_SPREAD and worst.between > worst.within
    return [told, because("one_process_is_a_sample")] if careful else [told]
