"""Does the page disturb the clock? Matrix × vector timed by the app with a browser at it, and by a bare process.

    python tests/performance/disturbance.py [--rounds 3] [--effort standard] [--no-gate]

In each round a bare process (``python -m bench sweep``), the app (its own Run pressed in a headless browser, the
run then downloaded) and a second bare process measure the same sizes on the CPU one after the other, each started
anew; every other round goes the other way about. Prints for each size, as a geometric mean over the rounds, the
app's median over that of the two bare processes, and the one bare process's over the other's: the control, which
says what this machine's own wandering makes of equals. Beside other work set OMP_NUM_THREADS=1: two threads that
have to share a core read a thousand times too slow, by chance, and hide everything else. ``--no-gate`` adds the app
with a gate that never waits: what it would read if the page were drawn while blocks are timed. Goal: the app no
farther from 1 than the control and 2 %.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the program
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tests' helpers

import browser
from pages import APP, ROOT, Dashboard, serve
from playwright.sync_api import sync_playwright

from bench.measure.sizes import spaced_sizes
from bench.records.budget import EFFORTS
from bench.records.run import Run
from bench.storage.reading import from_json
from bench.text.units import si

FIRST, LAST, HOW_MANY = 16, 3072, 9  # ends that the page's slider has
TOLERANCE = 1.02
LONGEST_S = 3600.0
UNGATED = """
import sys
from contextlib import nullcontext
from bench.measure import gate, runner
from streamlit.web.cli import main

class Never(gate.Gate):
    def timed(self): return nullcontext()
    def drawing(self, patience=0.0): return nullcontext(True)
    def disturbed(self, start, end): return False
    def others_s(self): return 0.0

runner.Gate = Never
sys.argv = ["streamlit", "run", "app.py", *sys.argv[1:]]
main()
"""
Readings = dict[int, float]  # size: median seconds


def bare(effort: str, folder: Path) -> Run:
    """The sweep in a process without a page."""
    sizes = ",".join(map(str, spaced_sizes(FIRST, LAST, HOW_MANY, "geometric")))
    out = folder / "bare.json"
    command = [sys.executable, "-m", "bench", "sweep", "--op", "matvec", "--sizes", sizes, "--effort", effort]
    subprocess.run(
        [*command, "--devices", "cpu", "--out", str(out)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"BENCH_HOME": str(folder)},
    )
    return from_json(out.read_bytes())


def paged(effort: str, folder: Path, program: tuple[str, ...] = APP) -> Run:
    """The same sweep on the page: chosen by a link, started by its button, watched to its end, downloaded."""
    with serve(folder, program=program) as server, sync_playwright() as playwright:
        started = browser.launch(playwright)
        dashboard = Dashboard(started.new_page(viewport={"width": 1280, "height": 900}), server)
        dashboard.open(
            op="Matrix × vector",
            sizes="My own",
            range=[str(FIRST), f"{LAST:_}".replace("_", "\u202f")],
            count=HOW_MANY,
            spacing="geometric",
            devices="CPU",
            effort=effort.capitalize(),
        )
        dashboard.start()
        dashboard.over(within_s=LONGEST_S)
        run = from_json(Path(dashboard.download("Run (JSON)").path()).read_bytes())
        started.close()
    return run


def readings(run: Run) -> Readings:
    return {m.case.size: m.median_s.value for m in run.measurements}


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--effort", default="standard", choices=list(EFFORTS))
    parser.add_argument("--no-gate", action="store_true", help="beside it, what an app that never waits would read")
    options = parser.parse_args()
    arms: dict[str, Callable[[str, Path], Run]] = {"bare": bare, "app": paged}
    if options.no_gate:
        arms["no gate"] = lambda effort, folder: paged(effort, folder, ("-c", UNGATED))
    arms["bare again"] = bare
    found: dict[str, list[Readings]] = {arm: [] for arm in arms}
    for number in range(options.rounds):
        for arm in list(arms) if number % 2 == 0 else reversed(arms):
            load = psutil.getloadavg()[0]
            with tempfile.TemporaryDirectory() as folder:
                run = arms[arm](options.effort, Path(folder))
            found[arm].append(readings(run))
            again = sum(m.disturbed for m in run.measurements)
            print(f"round {number + 1}, {arm}: load {load:.1f} before, {again} blocks measured again", flush=True)
    where = run.environment
    print(f"{where.chip}, {os.cpu_count()} cores, {where.threads} threads, PyTorch {where.torch}")
    print(f"effort {options.effort}, {options.rounds} rounds")
    report(found)


def report(found: dict[str, list[Readings]]) -> None:
    """The table, and whether the goal is met."""
    pairs = list(zip(found["bare"], found["bare again"], strict=True))
    names = [arm for arm in found if not arm.startswith("bare")]
    head = [f"{name}/bare" for name in names] + ["bare/bare"]
    print(f"{'m':>6} {'bare':>9} " + " ".join(f"{title:>12}" for title in head))
    ratios: dict[str, list[float]] = {title: [] for title in head}
    for m in spaced_sizes(FIRST, LAST, HOW_MANY, "geometric"):
        reference = [math.sqrt(one[m] * other[m]) for one, other in pairs]
        for name, title in zip(names, head, strict=False):
            ratios[title].append(mean([r[m] / b for r, b in zip(found[name], reference, strict=True)]))
        ratios["bare/bare"].append(mean([other[m] / one[m] for one, other in pairs]))
        print(f"{m:6} {si(mean(reference), 's'):>9} " + " ".join(f"{ratios[title][-1]:12.3f}" for title in head))
    total = {title: mean(column) for title, column in ratios.items()}
    print(f"   all {'':9} " + " ".join(f"{total[title]:12.3f}" for title in head))
    allowed = abs(math.log(total["bare/bare"])) + math.log(TOLERANCE)
    met = abs(math.log(total["app/bare"])) <= allowed
    print(f"app within {TOLERANCE} of control: {'yes' if met else 'no'}")


if __name__ == "__main__":
    main()
