"""Runs without a pause while tabs reload: does the program grow, leave threads behind, or complain?

    python tests/performance/soak.py [--minutes 10] [--tabs 3]

One tab presses Run again whenever a run is over (and Stop in every fourth), the others reload all the time and
change pages. Between the runs the server's own memory (unique set size) and threads are read; a first run, which
fills caches and starts PyTorch's threads, comes before. Goals: after a warm-up of a quarter of the readings memory
grows by less than 5 %, no thread is left behind, and the server's log and the browsers' consoles are clean.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the program
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tests' helpers

import browser
from pages import Dashboard, Server, serve
from playwright.sync_api import TimeoutError as Late
from playwright.sync_api import expect, sync_playwright

SMALL = {"sizes": "My own", "range": ["16", "128"], "count": 3, "effort": "Quick"}
PAGES = ("", "training", "article", "machine")
GROWTH = 0.05
FEWEST = 4  # runs, so that halves and quarters of the readings say something however slow the machine is
PAUSE_S = 0.5  # between two reloads


@dataclass
class Soak:
    """What was seen."""

    runs: int = 0
    reloads: int = 0
    memory: list[tuple[float, int]] = field(default_factory=list)  # seconds since the start, bytes
    threads: list[int] = field(default_factory=list)  # whenever no run was going on
    complaints: list[str] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """Of the last quarter's least memory over the second quarter's."""
        readings, quarter = [m for _, m in self.memory], len(self.memory) // 4
        return min(readings[-quarter:]) / min(readings[quarter : 2 * quarter + 1]) - 1

    @property
    def threads_left(self) -> int:
        """That were there after every run of the second half, beyond the most after one of the first."""
        half = len(self.threads) // 2
        return min(self.threads[half:]) - max(self.threads[:half])


def soak(folder: Path, seconds: float, tabs: int, pause_s: float = PAUSE_S) -> Soak:
    """Let it run in a browser for so long, and for ``FEWEST`` runs at least."""
    seen = Soak()
    with serve(folder) as server, sync_playwright() as playwright:
        chromium = browser.launch(playwright)
        context = chromium.new_context()
        dashboards = [Dashboard(context.new_page(), server) for _ in range(tabs)]
        for dashboard in dashboards:
            dashboard.open(**SMALL)
        dashboards[0].start()
        dashboards[0].over()
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds or seen.runs < FEWEST:
            _turn(dashboards, server, seen, passed)
            dashboards[0].page.wait_for_timeout(1000 * pause_s)
        for dashboard in dashboards:
            seen.complaints += dashboard.complaints
        chromium.close()
        if "Traceback" in server.log or "rror" in server.log:
            seen.complaints.append(server.log[-2000:])
    return seen


def _turn(dashboards: list[Dashboard], server: Server, seen: Soak, passed: float) -> None:
    first, *others = dashboards
    if first.run_button.is_visible():
        server_process = psutil.Process(server.process.pid)
        seen.threads.append(server_process.num_threads())
        seen.memory.append((passed, server_process.memory_full_info().uss))
        first.start()
        seen.runs += 1
        if seen.runs % 4 == 0:
            with suppress(Late):  # the run may be over before
                first.stop_button.click(timeout=2000)
    for number, other in enumerate(others):
        other.page.goto(f"{server.address}/{PAGES[(seen.reloads + number) % len(PAGES)]}")
        seen.reloads += 1
        expect(other.page.get_by_role("heading").first).to_be_visible()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--tabs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = soak(Path(folder), 60 * options.minutes, options.tabs)
    for passed, memory in seen.memory[:: max(1, len(seen.memory) // 20)]:
        print(f"{passed:6.0f} s  {memory / 1e6:7.1f} MB")
    print(f"{seen.runs} runs, {seen.reloads} reloads; growth {seen.growth:.1%}, threads left {seen.threads_left}")
    print("\n".join(seen.complaints) or "nothing complained")
    return int(seen.growth > GROWTH or seen.threads_left > 0 or bool(seen.complaints))


if __name__ == "__main__":
    sys.exit(main())
