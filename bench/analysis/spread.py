"""TODO."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.records.case import Case
from bench.stats.estimate import Estimate
from bench.text.language import translate

if TYPE_CHECKING:
    pass
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


def sentence(found: Sequence[Spread], name: Callable[[Case], str] = str) -> str:
    """What the processes amount to; ``name`` says how a case is called."""
    if not found:
        return translate("No case was measured in every process.")
    typical = math.exp(float(np.mean([math.log(spread.between) for spread in found])))
    worst = max(found, key=lambda spread: spread.between)
    text = translate(
        "Between {processes} processes medians differ {typical:.3g} times as a rule (geometric mean), at "
        "most {between:.3g} times, at {case}; within one the interval spans {within:.3g} times.",
        processes=len(worst.medians_s),
        typical=typical,
        between=worst.between,
        case=name(worst.case),
        within=worst.within,
    )
    if worst.between > LARGEST_SPREAD and worst.between > worst.within:
        text += translate(
            " One process is one sample: measure in several before you believe a difference as small as that."
        )
    return text
