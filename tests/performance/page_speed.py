"""How quick is the page? In a real browser, medians of several tries, beside an empty Streamlit page.

    python tests/performance/page_speed.py [--tries 5] [--runs 10000] [--seconds 40]

Goals: the first visit after the server starts shows its heading within 1.2 times what an empty page takes, and
PyTorch is imported only after that; a settled click changes the page in less than 0.1 s; drawing a case with 5 000
samples costs the server less than 50 ms; a history of 10 000 runs is listed in less than 0.3 s; what one tick of a
run sends is small and does not grow with the run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the program
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tests' helpers

import browser
from fakes import sweep
from pages import APP, Dashboard, Server, serve
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.records.case import Case
from bench.storage.store import open_store
from bench.ui.charts import sweep_charts

EMPTY = 'import streamlit as st\nst.set_page_config(layout="wide")\nst.title("Nothing")\n'
POINTS = {2**k: {"cpu": 1e-6 * 2**k, "mps": 1e-4 + 1e-7 * 2**k} for k in range(4, 13)}
SAMPLES, RUNS = 5000, 10_000
GOALS = {  # what: most of it
    "first visit over an empty page's": 1.2,
    "PyTorch in the server when the heading shows": 0,
    "click, s": 0.1,
    "drawing 5 000 samples, s": 0.05,
    "history of 10 000 runs, store, s": 0.3,
    "history of 10 000 runs, a search in the browser over one in a short history": 2.0,
    "a late tick's bytes over an early one's": 1.5,
    "a tick, bytes": 100_000,
}


@contextmanager
def tab(chromium: Browser) -> Iterator[Page]:
    """A visitor who was never here: nothing is cached."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    try:
        yield context.new_page()
    finally:
        context.close()


def first_visit(chromium: Browser, program: tuple[str, ...]) -> tuple[float, bool]:
    """Seconds from the address to the heading, on a server that has just started; was PyTorch there already?"""
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), program=program) as server, tab(chromium) as page:
        began = time.perf_counter()
        page.goto(server.address, wait_until="commit")
        page.get_by_role("heading", level=1).wait_for()
        seconds = time.perf_counter() - began
        return seconds, _has_torch(server)


def _has_torch(server: Server) -> bool:
    return any("libtorch" in mapped.path for mapped in psutil.Process(server.process.pid).memory_maps())


def click(dashboard: Dashboard, tries: int) -> float:
    """Seconds from a click on a settled page to what it changes, as the browser itself sees it."""
    found = []
    for number in range(2 * tries):
        option = ("My own", "The article's nine")[number % 2]
        button = (
            dashboard.keyed("sizes")
            .get_by_role("radio", name=option)
            .or_(dashboard.keyed("sizes").get_by_role("button", name=option))
        )
        found.append(button.first.evaluate(CLICK, ".st-key-count"))
        dashboard.settled()
        dashboard.page.wait_for_timeout(300)
    return median(found)


CLICK = """(button, wanted) => new Promise(done => {
    const there = () => !!document.querySelector(wanted), before = there(), began = performance.now()
    const look = () => there() !== before ? done((performance.now() - began) / 1000) : requestAnimationFrame(look)
    button.click(); look()
})"""


def drawing(tries: int) -> float:
    """Server seconds for what a tick draws while a case has so many samples: both figures, as they are sent."""
    run, current = sweep(POINTS), Case("matvec", 4096, "mps")
    samples = tuple(1e-4 + 1e-8 * (n % 97) for n in range(SAMPLES))

    def draw() -> None:
        sweep_charts.time_against_size(run, "m", list(POINTS), True, (current, samples)).to_json()
        sweep_charts.sample_strip(samples, current.device).to_json()

    return _timed(draw, tries)


def history(folder: Path, tries: int, runs: int) -> float:
    """Fills a store with so many runs; seconds until its newest are listed after a search."""
    (folder / "home").mkdir()
    store = open_store(folder / "home" / "runs.db")
    template = sweep(POINTS)
    for number in range(runs):
        moment = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T{number % 24:02}:00:00+00:00"
        store.add_file(
            replace(template, environment=replace(template.environment, captured_at=moment)), f"run {number}"
        )
    return _timed(lambda: store.heads("matvec 2026-11", limit=500), tries)


def search(chromium: Browser, server: Server, tries: int) -> float:
    """Seconds from Enter to the list's new caption."""
    found = []
    with tab(chromium) as page:
        page.goto(f"{server.address}/history")
        entry = page.locator(".st-key-search").get_by_role("textbox")
        expect(page.locator(".st-key-runs")).to_be_visible()
        for number in range(tries):
            entry.fill(f"nothing like {number}")
            began = time.perf_counter()
            entry.press("Enter")
            page.get_by_text("No run has all of these words.").wait_for()
            entry.fill("")
            entry.press("Enter")
            page.locator(".st-key-runs").wait_for()
            found.append(time.perf_counter() - began)
    return median(found)


def ticks(chromium: Browser, server: Server, seconds_s: int) -> list[int]:
    """Bytes that came each second while a long run went on."""
    found: list[tuple[float, int]] = []

    def hear(socket) -> None:
        socket.on("framereceived", lambda frame: found.append((time.perf_counter(), len(frame))))

    with tab(chromium) as page:
        page.on("websocket", hear)
        dashboard = Dashboard(page, server)
        dashboard.open(op="Matrix × vector", sizes="My own", count=40, effort="Thorough", devices="CPU")
        dashboard.start()
        page.wait_for_timeout(3000)  # the page's change from Run to Stop is over
        began = time.perf_counter()
        page.wait_for_timeout(1000 * seconds_s)
        ended = time.perf_counter()
        dashboard.close()
    seconds = [0] * int(ended - began)
    for moment, length in found:
        if 0 <= moment - began < len(seconds):
            seconds[int(moment - began)] += length
    return seconds


def _timed(work: Callable[[], object], tries: int) -> float:
    found = []
    for _ in range(tries + 1):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return median(found[1:])


def measure(tries: int, runs: int, seconds_s: int) -> dict[str, float]:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty.py").write_text(EMPTY)
        chromium = browser.launch(playwright)
        visits = {"app": [], "empty": []}
        programs = {"app": APP, "empty": (*APP[:-1], str(folder / "empty.py"))}
        for number in range(tries):
            for arm in sorted(programs, reverse=bool(number % 2)):
                visits[arm].append(first_visit(chromium, programs[arm]))
        mids = {arm: median(seconds for seconds, _ in some) for arm, some in visits.items()}
        print(f"first visit: {mids['app']:.2f} s, an empty page {mids['empty']:.2f} s")
        with serve(_made(folder / "a")) as server:
            with tab(chromium) as page:
                dashboard = Dashboard(page, server)
                dashboard.open()
                clicked = click(dashboard, tries)
            sent = ticks(chromium, server, seconds_s)
            print("bytes each second:", *sent)
            short = search(chromium, server, tries)
        full = _made(folder / "b")
        listed = history(full, tries, runs)
        with serve(full) as server:
            long = search(chromium, server, tries)
        print(f"two searches in the browser: {long:.2f} s, in a history of one run {short:.2f} s")
        chromium.close()
    third = len(sent) // 3
    found = (
        mids["app"] / mids["empty"],
        sum(torch for _, torch in visits["app"]),
        clicked,
        drawing(tries),
        listed,
        long / short,
        median(sent[-third:]) / median(sent[:third]),
        median(sent),
    )
    return dict(zip(GOALS, found, strict=True))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--runs", type=int, default=RUNS, help="in the long history")
    parser.add_argument("--seconds", type=int, default=40, help="that the ticks of a run are counted for")
    options = parser.parse_args()
    found = measure(options.tries, options.runs, options.seconds)
    for what, value in found.items():
        print(f"{what}: {value:.3g} (at most {GOALS[what]:.3g}): {'yes' if value <= GOALS[what] else 'NO'}")
    return int(any(value > GOALS[what] for what, value in found.items()))


if __name__ == "__main__":
    sys.exit(main())
