"""The program is aborted, interrupted and left running for long: what is finished stays, and it starts again."""

import signal
import sys
import time
from pathlib import Path

import browser
import pytest
from emulator import require_emulator
from pages import Dashboard, serve
from playwright.sync_api import expect, sync_playwright

from bench.storage.store import CRASHED, DONE, open_store

sys.path.insert(0, str(Path(__file__).parent / "performance"))

from soak import FEWEST, GROWTH, soak

SMALL = {"sizes": "My own", "range": ["16", "128"], "count": 3, "effort": "Quick"}
LONG = SMALL | {"range": ["16", "512"], "count": 60, "effort": "Thorough"}


@pytest.fixture
def chromium():
    with sync_playwright() as playwright:
        started = browser.launch(playwright)
        yield started
        started.close()


def runs(tmp_path):
    return open_store(tmp_path / "home" / "runs.db")


def test_after_an_abort_the_page_names_the_case_and_goes_on_without_it(chromium, tmp_path):
    """As at a Metal assertion: the whole server is gone in the middle of a case."""
    require_emulator()
    settings = {"overhead_us": 100, "bandwidth_gbs": 20, "gflops": 200}
    with serve(tmp_path, settings | {"abort_at": 9000}) as server:
        tab = Dashboard(chromium.new_page(), server)
        tab.open(**SMALL | {"count": 6})
        tab.start()
        assert server.process.wait(60) == -signal.SIGABRT
        tab.page.close()
    (crash,) = runs(tmp_path).unfinished()
    assert crash.case.device == "mps" and crash.planned == 12
    with serve(tmp_path, settings) as server:
        tab = Dashboard(chromium.new_page(), server)
        tab.open(**SMALL)
        warning = tab.page.get_by_text("The program ended abruptly")
        expect(warning).to_contain_text(f"Matrix × vector, {crash.case.size} on MPS")
        tab.keyed(f"go on {crash.id}").get_by_role("button").click()
        expect(warning).to_have_count(0)
        tab.over()
        expect(tab.page.get_by_text("The program ended abruptly while this was measured")).to_be_visible()
    store = runs(tmp_path)
    assert [head.state for head in store.heads()] == [DONE, CRASHED]
    run = store.load(store.heads()[0].id)
    assert len(run.outcomes) == 12 and [f.case for f in run.failures] == [crash.case]


def test_control_c_ends_the_program_within_five_seconds_and_keeps_the_rows(chromium, tmp_path):
    with serve(tmp_path) as server:
        tab = Dashboard(chromium.new_page(), server)
        tab.open(**LONG)
        tab.start()
        deadline = time.monotonic() + 60
        while (not runs(tmp_path).heads() or not runs(tmp_path).heads()[0].outcomes) and time.monotonic() < deadline:
            tab.page.wait_for_timeout(300)
        began = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        server.process.wait(15)
        assert time.monotonic() - began < 5
        assert "Traceback" not in server.log
    store = runs(tmp_path)
    (head,) = store.unfinished()
    store.recover(head.id)
    assert len(store.load(head.id).measurements) >= 1


@pytest.mark.alone
def test_a_while_of_runs_and_reloads_leaves_nothing_behind(tmp_path):
    """The short form of tests/performance/soak.py."""
    seen = soak(tmp_path, 0, 2, pause_s=1.5)
    assert not seen.complaints
    assert seen.runs >= FEWEST and seen.reloads >= FEWEST
    assert seen.threads_left <= 0
    assert seen.growth < GROWTH
