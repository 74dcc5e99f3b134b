"""What verification costs, and what it calls reduced precision.

    python tests/performance/verification.py [--device cuda]

For each size: seconds in checks (two, before and after) over the seconds of the whole case, at standard effort. Goal:
below 10 %. Then matrix × matrix with PyTorch's float32 precision set to "high", where the device has TF32: it must be
named reduced, not wrong, and not right either.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from bench.measure import clock, verify
from bench.measure.discovery import find_devices
from bench.measure.gate import Gate
from bench.measure.job import Control
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import EFFORTS
from bench.records.device import DeviceInfo
from bench.records.run import Run
from bench.workloads.article import ARTICLE_SIZES

GOAL = 0.1


class Spent:
    """Seconds spent in checks since the last look."""

    seconds = 0.0


def measured(operation: str, sizes: tuple[int, ...], device: str, found: dict[str, DeviceInfo]) -> Run:
    runs: list[Run] = []

    def publish(**changes) -> None:
        if "run" in changes:
            runs.append(changes["run"])

    measure(SweepPlan(operation, sizes, (device,), EFFORTS["standard"]), Control(found, Gate(lambda: None), publish))
    return runs[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    found = {info.name: info for info in find_devices() if info.usable}
    check = verify.Judge.check

    def timed(self, step, outline):
        start = clock.now()
        verdict = check(self, step, outline)
        Spent.seconds += clock.now() - start
        return verdict

    verify.Judge.check = timed
    worst = 0.0
    measured("matvec", (64,), device, found)  # libraries are loaded at the first use
    for operation, sizes in (("matvec", (*ARTICLE_SIZES, 8192)), ("matmul", (100, 500, 1000, 2000))):
        for size in sizes:
            Spent.seconds, start = 0.0, clock.now()
            run = measured(operation, (size,), device, found)
            share = Spent.seconds / (clock.now() - start)
            worst = max(worst, share)
            print(f"{operation} {size}: {1e3 * Spent.seconds:.1f} ms in checks, {share:.1%}; {run.outcomes[0].status}")
    print(f"At most {worst:.1%} (goal: below {GOAL:.0%})")
    verify.Judge.check = check
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        for m in measured("matmul", (500, 2000), device, found).measurements:
            print(f'precision "{precision}", {m.case.size}: {m.status}, {m.check.verdict}, off by {m.check.error:.2g}')
    return int(worst > GOAL)


if __name__ == "__main__":
    sys.exit(main())
