"""What verification sees, what it takes for wrong that is not, and what it costs.

    python tests/performance/verification.py costs  [--device cuda] [--sizes 100,1000] [--operations matmul,sort]
    python tests/performance/verification.py honest [--device cuda] [--checks 10000]
    python tests/performance/verification.py faults [--seeds 20] [--sizes 48,101]

``costs``: the part of a case's time, at standard effort, that checks take (goal: below 5 %; without the step whose
answer is checked first, which warms up for those that are timed), and the memory they hold beside what is timed (goal:
below twice that). ``honest``: right answers of random operations, formats, sizes, seeds
and numbers of threads; none may be called wrong, and the largest errors should stay below half of their limits. Set
ATEN_CPU_CAPABILITY to default or avx2 for other instruction sets. ``faults``: caught and injected, by operation and
format.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from injected import DTYPES, case, caught, injected

from bench.machine.devices import DEVICE_ERRORS, Device
from bench.machine.memory import peak_memory
from bench.measure import clock
from bench.measure.compiling import autocast
from bench.measure.discovery import find_devices
from bench.measure.gate import Gate
from bench.measure.job import Control
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.measure.verification import judge as judge_room
from bench.measure.verification.case import Verifier
from bench.measure.verification.judge import Judge
from bench.measure.verification.population import Population
from bench.records.budget import EFFORTS
from bench.records.measurement import RIGHT
from bench.records.run import Run
from bench.text.tell import tell
from bench.workloads.operations import OPERATIONS

GOAL, MEMORY_GOAL = 0.05, 2.0
SIZES = (16, 100, 500, 1000, 2000, 3000, 4096)
HONEST_SIZES = (16, 17, 33, 64, 100, 257, 500, 900)
SLOW_FLOPS = 4e9  # an honest check of more than that is tried only rarely
AUTOCAST = ("autocast-bfloat16", "autocast-float16")


class Spent:
    """Seconds in checks; one that is called within another is counted once."""

    def __init__(self) -> None:
        self.seconds, self.within = 0.0, 0


def timed(owner: type, name: str, spent: Spent) -> Callable[[], None]:
    """Add the seconds of a method to ``spent``; returns what undoes it."""
    method = getattr(owner, name)

    def call(self, *arguments):
        start, spent.within = clock.now(), spent.within + 1
        try:
            return method(self, *arguments)
        finally:
            spent.within -= 1
            spent.seconds += 0.0 if spent.within else clock.now() - start

    setattr(owner, name, call)
    return lambda: setattr(owner, name, method)


def swept(operation: str, size: int, device: str, found: dict) -> Run:
    runs: list[Run] = []

    def publish(**changes) -> None:
        if "run" in changes:
            runs.append(changes["run"])

    plan = SweepPlan(operation, (size,), (device,), EFFORTS["standard"])
    measure(plan, Control(found, Gate(lambda: None), publish))
    return runs[-1]


def costs(device: str, sizes: Sequence[int], operations: Sequence[str]) -> int:
    found = {info.name: info for info in find_devices() if info.usable}
    swept("matmul", 64, device, found)  # libraries are loaded at the first use
    spent, worst = Spent(), 0.0
    undo = [timed(Verifier, name, spent) for name in ("_forget", "timed", "last")]
    undo += [timed(Judge, name, spent) for name in ("__init__", "compare")]
    for operation in operations:
        for size in sizes:
            spent.seconds, start = 0.0, clock.now()
            outcome = swept(operation, size, device, found).outcomes[0]
            share = spent.seconds / (clock.now() - start)
            worst = max(worst, share)
            print(
                f"{operation} {size}: {1e3 * spent.seconds:.1f} ms in checks, {share:.1%}; {memory(operation, size)}",
                end="",
            )
            print(f"; {outcome.status}", flush=True)
    for back in undo:
        back()
    print(f"At most {worst:.1%} (goal: below {GOAL:.0%})")
    return int(worst > GOAL)


def memory(operation: str, size: int) -> str:
    """What a check holds beside the tensors of a step, relative to these."""
    function, inputs = case(operation, size, "float32", 0)
    device = Device("cpu")
    step = peak_memory(device, lambda: function(*inputs)).used_bytes
    out, judge = function(*inputs), Judge(OPERATIONS[operation], size, inputs)
    own = sum(one.nbytes for one in (out, *inputs))
    held = peak_memory(device, lambda: judge.compare(out)).used_bytes
    return f"memory {max(0, held - own) / step:.2f} of the step's (goal: below {MEMORY_GOAL:.0f})"


def honest(device: str, checks: int, sizes: Sequence[int], operations: Sequence[str]) -> int:
    """Largest errors in parts of their limits: of an element, of all, of what is common, of the median."""
    top: dict[tuple[str, str], list[float]] = {}
    seen: list[Population] = []
    for name in ("verdict_of", "sampled_verdict"):
        method = getattr(judge_room, name)
        setattr(judge_room, name, lambda found, *rest, method=method: seen.append(found) or method(found, *rest))
    rng, wrong, done, skipped = random.Random(checks), 0, 0, Counter()
    while done < checks:
        name, dtype, size = rng.choice(operations), rng.choice((*DTYPES, *AUTOCAST)), rng.choice(sizes)
        size, seed = max(16, size + rng.randrange(-7, 8)), rng.randrange(10**6)
        if OPERATIONS[name].cost(size, 4).flops > SLOW_FLOPS or (
            OPERATIONS[name].cost(size, 4).flops > SLOW_FLOPS / 40 and rng.random() < 0.9
        ):
            continue
        torch.set_num_threads(rng.choice((1, 1, 2)))
        function, inputs = case(name, size, dtype, seed)
        seen.clear()
        try:
            with autocast(device, dtype):
                named = {"device": device} if OPERATIONS[name].inputs_on == "host" else {}
                out = function(*(one if named else one.to(device) for one in inputs), **named)
            check = Judge(OPERATIONS[name], size, inputs, dtype).compare(out)
        except DEVICE_ERRORS as error:
            skipped[f"{name} {dtype}: {error}"] += 1
            continue
        done += 1
        if check.verdict != RIGHT:
            wrong += 1
            print("FALSE ALARM", name, dtype, size, seed, torch.get_num_threads(), check.verdict, tell(check.reason))
        parts = [(check.error or 0.0) / check.limit if check.limit else 0.0, 0.0, 0.0, 0.0]
        for one in seen:
            if one.limits.element:
                bias = abs(one.bias) / (one.limits.bias + 6 * one.bias_noise)
                own = (
                    one.worst / one.limits.element,
                    one.spread / one.limits.spread,
                    bias,
                    one.median / one.limits.median,
                )
                parts = [max(pair) for pair in zip(parts, own, strict=True)]
        top[name, dtype] = [max(pair) for pair in zip(parts, top.get((name, dtype), parts), strict=True)]
    for (name, dtype), parts in sorted(top.items()):
        print(f"{name:12} {dtype:18}", *(f"{part:.2f}" for part in parts))
    for what, times in skipped.items():
        print("skipped", times, what)
    print(
        f"{wrong} false alarms of {done} honest checks; errors at most {max(p[0] for p in top.values()):.2f} of a limit"
    )
    return int(wrong > 0)


def faults(seeds: int, sizes: Sequence[int], operations: Sequence[str]) -> int:
    missed: list[str] = []
    for name in operations:
        told = []
        for dtype in DTYPES:
            tried = found = 0
            for size in sizes:
                for seed in range(seeds):
                    for fault, check, _ in injected(name, size, dtype, seed):
                        tried += 1
                        found += caught(check) == (fault != "honest")
                        if caught(check) != (fault != "honest"):
                            missed.append(f"{name} {dtype} {size} seed {seed}: {fault}, off by {check.error}")
            told.append(f"{dtype} {found}/{tried}")
        print(f"{name:12}", ", ".join(told), flush=True)
    print(*missed, f"{len(missed)} missed", sep="\n")
    return int(bool(missed))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("costs", "honest", "faults"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", default="")
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    options = parser.parse_args()
    sizes, operations = [int(size) for size in options.sizes.split(",") if size], options.operations.split(",")
    if options.what == "costs":
        return costs(options.device, sizes or SIZES, operations)
    if options.what == "honest":
        return honest(options.device, options.checks, sizes or HONEST_SIZES, operations)
    return faults(options.seeds, sizes or (48, 101), operations)


if __name__ == "__main__":
    sys.exit(main())
