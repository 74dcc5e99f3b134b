"""Is our wall clock right on a real accelerator? Against CUDA's events, and against Triton's do_bench with a hot cache.

    python tests/performance/calibrate.py [--sizes 100,3000] [--dtypes float32,float16]

Matrix × vector and matrix × matrix over the article's sizes and up to 16 384. Ours is the program's own sweep; own
events are those that it recorded in the same rounds; later events the median of 20 blocks afterwards, when the device's
clock may be another. do_bench_cudagraph replays the call from a graph, without emptying the cache: what the device
needs when nobody has to launch. Goal: where a block lasts at least 1 ms and the device, not the launching, decides,
ours and our own events differ by at most 2 %.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch

from bench.machine.devices import Device
from bench.measure.discovery import find_devices
from bench.measure.gate import Gate
from bench.measure.job import Control
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import EFFORTS
from bench.text.tell import tell
from bench.text.units import si
from bench.workloads.article import ARTICLE_SIZES
from bench.workloads.inputs import draw_from
from bench.workloads.operations import OPERATIONS

SIZES = (*ARTICLE_SIZES, 4096, 8192, 16384)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--dtypes", default="float32,float16,bfloat16")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    sizes, dtypes = tuple(map(int, options.sizes.split(","))), tuple(options.dtypes.split(","))
    found = {info.name: info for info in find_devices() if info.usable}
    if options.device not in found or options.device == "cpu":
        print(f"{options.device}: not here, or without a clock of its own; nothing to calibrate.")
        return 0
    print(f"{found[options.device].hardware}, PyTorch {torch.__version__}, {os.cpu_count()} cores")
    worst = 0.0
    for operation, dtype in itertools.product(("matvec", "matmul"), dtypes):
        seen: list = []
        control = Control(found, Gate(settle=lambda: None), partial(_keep, seen))
        measure(SweepPlan(operation, sizes, (options.device,), EFFORTS["standard"], dtypes=(dtype,)), control)
        run = next(run for run in reversed(seen) if run is not None)
        print(f"\n{operation} {dtype}\n     m       ours      ±  own events  later events      graph  ", end="")
        print("ours/own  ours/later  ours/graph  status")
        for m in run.measurements:
            own = float(np.median(m.events_s))
            events, graph = _others(m, options.device)
            ours, block_s = m.median_s.value, m.median_s.value * m.calls
            decided = np.median(m.dispatch_s) < 0.8 * ours  # the host was not what it waited for
            if block_s >= 1e-3 and decided:
                worst = max(worst, abs(ours / own - 1))
            replayed = (si(graph, "s"), f"{ours / graph:.3f}") if graph else ("–", "–")
            print(
                f"{m.case.size:6}  {si(ours, 's'):>9} {m.median_s.relative_half_width:6.1%}  {si(own, 's'):>10}  "
                f"{si(events, 's'):>12}  {replayed[0]:>9}  {ours / own:8.3f}  {ours / events:10.3f}  "
                f"{replayed[1]:>10}  {m.status}{'' if decided else ' (launch-bound)'}"
            )
        for failure in run.failures:
            print(f"{failure.case}: {tell(failure.error)}")
    print(f"\nLargest difference where the device decides: {worst:.1%} (goal: at most 2 %)")
    return int(worst > 0.02)


def _keep(seen: list, **changes) -> None:
    seen.append(changes.get("run"))


def _others(m, name: str) -> tuple[float, float | None]:
    """Seconds a call by events, and by a replayed graph (None where Triton is not there)."""
    device = Device(name)
    function, inputs = OPERATIONS[m.case.workload].build(draw_from(0), m.case.size)
    here = [tensor.to(device.torch, getattr(torch, m.case.dtype)) for tensor in inputs]

    def step():
        return function(*here)

    for _ in range(3):
        device.seconds_by_events(step, m.calls)
    events = float(np.median([device.seconds_by_events(step, m.calls) for _ in range(20)]))
    if importlib.util.find_spec("triton") is None:
        return events, None
    return events, importlib.import_module("triton.testing").do_bench_cudagraph(
        step, rep=50, return_mode="median"
    ) / 1e3


if __name__ == "__main__":
    sys.exit(main())
