"""The same cases in several new processes: some products are two to three times slower in some of them.

Within a process samples scatter little around whatever that process got (memory layout, clocks, libraries' choices);
only new processes show how much that is. Each is a run of its own, kept like any other.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.cases import Case
from bench.results import FAILED, IMPOSSIBLE, WRONG
from bench.stats import Estimate

Medians = dict[Case, Estimate]  # of one process
LARGEST_SPREAD = 1.1  # between processes: more than that is worth a warning


class FreshError(Exception):
    """A process ended without a run: one sentence."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One case over all processes; factors, 1 is none."""

    case: Case
    medians_s: tuple[float, ...]  # one a process
    between: float  # largest over smallest median
    within: float  # the widest interval of a single process, its upper over its lower end


def run_fresh(arguments: Sequence[str], times: int, tell: Callable[[int], None]) -> list[Medians]:
    """``python -m bench sweep *arguments`` in ``times`` new processes, one after the other. FreshError."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times):
            tell(number)
            out = Path(folder) / f"{number}.json"
            command = [sys.executable, "-m", "bench", "sweep", *arguments, "--out", str(out)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
            if not out.exists():
                said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
                raise FreshError(f"Process {number + 1} gave no run: {said[-1]}")
            found.append(medians_of(json.loads(out.read_bytes())))
    return found


def medians_of(data: dict) -> Medians:
    """Of a run as this program has just written it: what may be believed, by case."""
    return {
        Case(**entry["case"]): Estimate(**entry["median_s"])
        for entry in data["results"]
        if entry["status"] not in (FAILED, WRONG, IMPOSSIBLE)
    }


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


def sentence(found: Sequence[Spread]) -> str:
    """What the processes amount to."""
    if not found:
        return "No case was measured in every process."
    typical = math.exp(float(np.mean([math.log(spread.between) for spread in found])))
    worst = max(found, key=lambda spread: spread.between)
    text = (
        f"Between {len(worst.medians_s)} processes medians differ {typical:.3g} times as a rule (geometric mean), at "
        f"most {worst.between:.3g} times, at {worst.case}; within one the interval spans {worst.within:.3g} times."
    )
    if worst.between > LARGEST_SPREAD and worst.between > worst.within:
        text += " One process is one sample: measure in several before you believe a difference as small as that."
    return text
