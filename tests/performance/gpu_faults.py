"""What a real CUDA device does when it runs out of memory, and when an error breaks it for good.

    python tests/performance/gpu_faults.py

First another tensor takes almost all memory after the devices were looked at: the large size must end as one row and
later sizes must run. Then a kernel asserts on the device (an index out of range), after which every call fails: the
device must be left alone and say so, and the CPU go on. Prints the outcomes; exit code 0 if they are as they must be.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from bench.measure.job import Snapshot
from bench.measure.plans import SweepPlan
from bench.measure.runner import Runner
from bench.measure.sweep import measure
from bench.records.budget import EFFORTS
from bench.records.cost import Cost
from bench.text.tell import note, tell
from bench.workloads.contract import Operation, Truth
from bench.workloads.operations import OPERATIONS

BROKEN_FROM = 200


def bad_index(draw, m):
    """Rows of a table; from some size on the indices lie beyond its end."""
    index = torch.arange(m) if m < BROKEN_FROM else torch.arange(m) + 10_000
    return (lambda table, index: table[index] if table.is_cuda else table[index % m]), (draw(m, 4), index)


def bad_operation() -> Operation:
    """Copies rows, so its answer is exact; the right one is that of indices within the table."""
    truth = Truth(lambda lines, table, index: table[index[lines] % len(table)], rounding="none")
    return Operation("bad-index", "Bad index", "nothing", bad_index, truth, lambda m, width: Cost(0, width * m))


def swept(runner: Runner, plan: SweepPlan) -> Snapshot:
    runner.start(partial(measure, plan), "sweep", plan.cases)
    snapshot = runner.join()
    for outcome in snapshot.run.outcomes if snapshot.run else ():
        print(f"  {outcome.case}: {outcome.status} {note(outcome)[:150]}")
    print(f"  {snapshot.state.value} {tell(snapshot.error)}")
    return snapshot


def main() -> int:
    if not torch.cuda.is_available():
        print("No CUDA device here: there is nothing to break.")
        return 0
    OPERATIONS["bad-index"] = bad_operation()
    runner = Runner()
    runner.wake()
    runner.join()
    free = torch.cuda.mem_get_info()[0]
    hog = torch.empty(int(free - 2e9), dtype=torch.uint8, device="cuda")
    print(f"Out of memory: {free / 1e9:.0f} GB free, 2 GB left")
    full = swept(runner, SweepPlan("matmul", (1000, 16384), ("cuda",), EFFORTS["quick"]))
    del hog
    torch.cuda.empty_cache()
    again = swept(runner, SweepPlan("matmul", (1000,), ("cuda",), EFFORTS["quick"]))
    statuses = [outcome.status for outcome in full.run.outcomes]
    good = statuses[0] != "failed" and statuses[1] == "failed" and again.run.outcomes[0].status != "failed"
    print("An error for good")
    lost = swept(runner, SweepPlan("bad-index", (100, 300, 400), ("cpu", "cuda"), EFFORTS["quick"]))
    errors = {o.case.size: tell(o.error) for o in lost.run.failures}
    good &= set(errors) == {300, 400} and errors[400].startswith("Not tried. It stopped working")
    good &= all("cuda" not in device.name or not device.usable for device in lost.devices)
    print("as it must be" if good else "NOT as it must be")
    return int(not good)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    import os

    os._exit(code)  # a broken device may hang Python's own ending
