"""How long until the median of matrix × vector is known within 2 %? This instrument against torch.utils.benchmark.

    python tests/performance/autorange.py [--device cpu] [--rounds 3] [--sizes 100,3000]

Same process, same device, the article's nine sizes, in turn. ``Timer.adaptive_autorange`` has no such goal: it
is asked for longer and longer runs until the interval of its own times is as narrow (with a threshold that never
keeps it), and only the call that got there counts. Prints seconds and their ratio for each size. Goal: at most
half in total.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch
from torch.utils.benchmark import Timer

from bench import stats
from bench.machine.devices import Device
from bench.measure import clock
from bench.measure.discovery import find_devices
from bench.measure.gate import Gate
from bench.measure.job import Control
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import EFFORTS
from bench.workloads.article import ARTICLE_SIZES

TARGET = EFFORTS["standard"].target


def ours(size: int, device: str, infos: dict) -> tuple[float, float]:
    """Seconds taken, and the relative half-width reached."""
    runs = []
    control = Control(infos, Gate(), lambda **changes: runs.append(changes["run"]) if "run" in changes else None)
    began = clock.now()
    measure(SweepPlan("matvec", (size,), (device,)), control)
    return clock.now() - began, runs[-1].measurements[0].median_s.relative_half_width


def theirs(size: int, device: str) -> tuple[float, float]:
    a, b = torch.rand(size, device=device), torch.rand(size, size, device=device)
    timer = Timer("b @ a", globals={"a": a, "b": b}, num_threads=torch.get_num_threads())
    at_least = 0.05
    while True:
        began = clock.now()
        times = timer.adaptive_autorange(threshold=10.0, min_run_time=at_least).times
        took = clock.now() - began
        width = stats.median(times).relative_half_width if len(times) >= 6 else float("inf")
        if width <= TARGET or took > 10:
            return took, width
        at_least *= 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default=",".join(map(str, ARTICLE_SIZES)))
    options = parser.parse_args()
    infos = {info.name: info for info in find_devices() if info.usable}
    print(f"{Device(options.device).hardware()}, {os.cpu_count()} cores, PyTorch {torch.__version__}")
    total = [0.0, 0.0]
    print(f"{'m':>6} {'ours':>9} {'±':>6} {'autorange':>10} {'±':>6} {'ratio':>6}")
    for size in map(int, options.sizes.split(",")):
        pairs = [(ours(size, options.device, infos), theirs(size, options.device)) for _ in range(options.rounds)]
        mine, other = (sorted(pair[i] for pair in pairs)[len(pairs) // 2] for i in (0, 1))
        total = [total[0] + mine[0], total[1] + other[0]]
        print(
            f"{size:6} {mine[0]:7.2f} s {mine[1]:6.1%} {other[0]:8.2f} s {other[1]:6.1%} {mine[0] / other[0]:6.2f}",
            flush=True,
        )
    print(f"   all {total[0]:7.2f} s        {total[1]:8.2f} s        {total[0] / total[1]:6.2f}  (goal: at most 0.5)")


if __name__ == "__main__":
    main()
