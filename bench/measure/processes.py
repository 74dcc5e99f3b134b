"""The same cases in several new processes: some products are two to three times slower in some of them.

Within a process samples scatter little around whatever that process got (memory layout, clocks, libraries' choices);
only new processes show how much that is. Each is a run of its own, kept like any other.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bench.analysis.spread import Medians, spreads
from bench.measure.plans import SweepPlan
from bench.records.case import Case
from bench.records.formats import OFF_ON
from bench.records.measurement import FAILED, IMPOSSIBLE, WRONG
from bench.records.reason import Refused, because
from bench.stats.estimate import Estimate

if TYPE_CHECKING:
    from bench.measure.job import Control

ASKED_S = 0.2  # so often whether to stop


class FreshError(Refused):
    """A process ended without a run."""


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
                raise FreshError("process_gave_no_run", number=number + 1, said=lines[-1])
            found.append(medians_of(json.loads(out.read_bytes())))
    return found


def _finished(command: list[str], errors: IO[str], check: Callable[[], None]) -> int:
    """The exit code of the command once it has ended."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=Path(__file__).parents[2])
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
    """A job: the plan in new processes, published as ``findings``. Each process keeps its own run."""

    def tell(number: int) -> None:
        control.publish(stage=because("stage_process", number=number + 1, total=times), done=number / times)

    control.publish(findings=tuple(spreads(run_fresh(arguments_of(plan), times, tell, control.check))))


def arguments_of(plan: SweepPlan) -> list[str]:
    """The options of ``python -m bench sweep`` that make this plan."""
    options: dict[str, str | int | Sequence[object]] = {
        "op": plan.operation,
        "sizes": plan.sizes,
        "devices": plan.devices,
        "effort": plan.budget.name,
        "seed": plan.seed,
        "dtypes": plan.dtypes,
        "threads": [number or "default" for number in plan.threads],
        "layouts": plan.layouts,
        "compile": [OFF_ON[one] for one in plan.compiled],
    }
    words = {
        name: str(value) if isinstance(value, str | int) else ",".join(map(str, value))
        for name, value in options.items()
    }
    return [part for name, word in words.items() for part in (f"--{name}", word)]


def medians_of(data: Mapping[str, Any]) -> Medians:
    """Medians by case, seconds, of a run as this program has just written it; of what may be believed only."""
    return {
        Case(**entry["case"]): Estimate(**entry["median_s"])
        for entry in data["results"]
        if entry["status"] not in (FAILED, WRONG, IMPOSSIBLE)
    }
