"""History, Compare and the recorded runs in a real browser: files in, rows selected, two runs side by side."""

import browser
import pytest
from fakes import ENVIRONMENT, sweep
from pages import Dashboard, serve
from playwright.sync_api import expect, sync_playwright

from bench.storage.recorded import TITLES
from bench.storage.store import open_store
from bench.storage.writing import to_json

POINTS = {64: {"cpu": 1e-5, "mps": 1e-4}, 512: {"cpu": 1e-4, "mps": 1e-4}, 3000: {"cpu": 1e-3, "mps": 1e-4}}


@pytest.fixture
def tab(tmp_path):
    with serve(tmp_path) as server, sync_playwright() as playwright:
        chromium = browser.launch(playwright)
        dashboard = Dashboard(chromium.new_page(viewport={"width": 1280, "height": 1400}), server)
        yield dashboard
        assert not dashboard.complaints and "Traceback" not in server.log
        chromium.close()


def go(tab, path):
    tab.page.goto(f"{tab.server.address}/{path}")
    expect(tab.page.get_by_role("heading").first).to_be_visible()
    tab.settled()


def eventually(tab, holds, within_s=30):
    """The page hears of a key press a moment later than the browser."""
    for _ in range(10 * within_s):
        if holds():
            return
        tab.page.wait_for_timeout(100)
    raise AssertionError(f"not within {within_s} s")


def select(tab, *rows):
    box = tab.keyed("runs").locator("canvas").first.bounding_box()
    for row in rows:
        tab.page.mouse.click(box["x"] + 18, box["y"] + 35 * (row + 1) + 17)
        tab.settled()


def test_runs_come_in_as_files_are_opened_compared_deleted_and_brought_back(tab, tmp_path):
    files = {"a.json": to_json(sweep(POINTS)), "broken.json": "{", "b.json": to_json(sweep(POINTS))}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    go(tab, "history")
    expect(tab.page.get_by_text("There is no run yet")).to_be_visible()
    tab.page.get_by_text("Add runs from files").click()
    tab.keyed("files").locator("input[type=file]").set_input_files([tmp_path / name for name in files])
    expect(tab.page.get_by_text("broken.json")).not_to_have_count(0)
    expect(tab.page.get_by_text("This is not JSON")).to_be_visible()
    expect(tab.page.get_by_text("2 runs.")).to_be_visible()
    store = open_store(tmp_path / "home" / "runs.db")
    assert sorted(head.name for head in store.heads()) == ["a", "b"]

    go(tab, "history")
    select(tab, 0)
    expect(tab.page.get_by_role("heading", name="use the CPU, above it MPS")).to_be_visible()
    assert "open=" in tab.page.url
    name = tab.page.get_by_role("textbox", name="Name")
    name.fill("mine")
    name.press("Enter")
    eventually(tab, lambda: "mine" in [head.name for head in store.heads()])
    tab.page.reload()
    expect(tab.page.get_by_role("heading", name="use the CPU, above it MPS")).to_be_visible()

    go(tab, "history")
    select(tab, 0, 1)
    tab.keyed("compare").get_by_role("button").click()
    expect(tab.page.get_by_text("equally fast overall")).to_be_visible()
    expect(tab.page.locator(".js-plotly-plot")).to_have_count(1)

    go(tab, "history")
    select(tab, 0)
    tab.keyed("delete").get_by_role("button").click()
    expect(tab.page.get_by_text("1 run.")).to_be_visible()
    tab.keyed("undo").get_by_role("button").click()
    expect(tab.page.get_by_text("2 runs.")).to_be_visible()
    eventually(tab, lambda: len(store.heads()) == 2)
    assert ENVIRONMENT.chip == store.heads()[0].chip


def test_a_recorded_run_can_be_explored_down_to_its_samples(tab):
    go(tab, "recorded")
    expect(tab.page.get_by_text("Recorded elsewhere, not measured on this machine")).to_be_visible()
    expect(tab.page.get_by_text("use the CPU, above it CUDA").first).to_be_visible()
    point = tab.chart("time").locator(".scatterlayer .points path").last
    point.click(force=True)  # a point's middle lies under the layer that listens to the mouse
    tab.settled()
    tab.page.get_by_role("tab", name="Samples").click()
    expect(tab.chart("samples").last).to_be_visible()
    expect(tab.page.get_by_text("on CUDA").first).to_be_visible()
    for title in list(TITLES.values())[1:]:
        tab.pick("recorded", title)
        expect(tab.page.locator(".js-plotly-plot").first).to_be_visible()
