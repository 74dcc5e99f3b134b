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
from typing import IO, TYPE_CHECKING

import numpy as np

from bench.cases import Case
from bench.plans import SweepPlan
from bench.registry import OFF_ON
from bench.results import FAILED, IMPOSSIBLE, WRONG
from bench.stats import Estimate
from bench.words import noted, say

if TYPE_CHECKING:
    from bench.runner import Control

ASKED_S = 0.2  # so often whether to stop
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


def run_fresh(
    arguments: Sequence[str], times: int, tell: Callable[[int], None], check: Callable[[], None] = lambda: None
) -> list[Medians]:
    """``python -m bench sweep *arguments`` in ``times`` new processes, one after the other. FreshError.

    ``check`` is asked several times a second, and may end it by raising; the process is told to stop.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times):
            tell(number)
            out, said = Path(folder) / f"{number}.json", Path(folder) / "said"
            command = [sys.executable, "-m", "bench", "sweep", *arguments, "--out", str(out)]
            with said.open("w+") as errors:
                code = _finished(command, errors, check)
                errors.seek(0)
                lines = errors.read().strip().splitlines() or [f"exit code {code}"]
            if not out.exists():
                raise FreshError(f"Process {number + 1} gave no run: {lines[-1]}")
            found.append(medians_of(json.loads(out.read_bytes())))
    return found


def _finished(command: list[str], errors: IO[str], check: Callable[[], None]) -> int:
    """The exit code of the command once it has ended."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=Path(__file__).parent.parent)
    try:
        while True:
            check()
            try:
                return process.wait(ASKED_S)
            except subprocess.TimeoutExpired:
                continue
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def in_new_processes(plan: SweepPlan, times: int, control: Control) -> None:
    """A job: the plan in new processes, published as ``told``. Each process keeps its own run."""

    def tell(number: int) -> None:
        control.publish(stage=noted("process {number} of {total}", number=number + 1, total=times), done=number / times)

    control.publish(told=tuple(spreads(run_fresh(arguments_of(plan), times, tell, control.check))))


def arguments_of(plan: SweepPlan) -> list[str]:
    """The options of ``python -m bench sweep`` that make this plan."""
    options = {
        "op": plan.operation, "sizes": plan.sizes, "devices": plan.devices, "effort": plan.budget.name,
        "seed": plan.seed, "dtypes": plan.dtypes, "threads": [number or "default" for number in plan.threads],
        "layouts": plan.layouts, "compile": [OFF_ON[one] for one in plan.compiled],
    }  # fmt: skip
    told = {
        name: value if isinstance(value, str | int) else ",".join(map(str, value)) for name, value in options.items()
    }
    return [part for name, value in told.items() for part in (f"--{name}", str(value))]


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


def sentence(found: Sequence[Spread], name: Callable[[Case], str] = str) -> str:
    """What the processes amount to; ``name`` says how a case is called."""
    if not found:
        return say("No case was measured in every process.")
    typical = math.exp(float(np.mean([math.log(spread.between) for spread in found])))
    worst = max(found, key=lambda spread: spread.between)
    text = say(
        "Between {processes} processes medians differ {typical:.3g} times as a rule (geometric mean), at "
        "most {between:.3g} times, at {case}; within one the interval spans {within:.3g} times.",
        processes=len(worst.medians_s),
        typical=typical,
        between=worst.between,
        case=name(worst.case),
        within=worst.within,
    )
    if worst.between > LARGEST_SPREAD and worst.between > worst.within:
        text += say(" One process is one sample: measure in several before you believe a difference as small as that.")
    return text
