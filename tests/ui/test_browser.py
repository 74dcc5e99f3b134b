"""The whole program as a person meets it: the real server, in a real browser, with and without an accelerator."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import browser
import idx
import pandas as pd
import pytest
from emulator import require_emulator
from pages import Dashboard, Server, serve
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.storage.reading import from_json

SMALL = {"sizes": "My own", "range": ["16", "128"], "count": 3, "effort": "Quick"}  # 16, 45 and 128: seconds
MANY = SMALL | {"range": ["16", "512"], "count": 60}  # stopped, never waited for
LONG = MANY | {"effort": "Thorough"}
VIEW = {"width": 1600, "height": 1200}  # wide enough for a table's every column
OWN, EMULATED = "own devices", "emulated MPS"
CPU, MPS = "CPU", "MPS (emulated)"
once = pytest.mark.parametrize("server", [OWN], indirect=True)  # what no accelerator changes
beside = pytest.mark.parametrize("server", [EMULATED], indirect=True)  # where it only adds to what is seen


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = browser.launch(playwright)
        yield started
        started.close()


@pytest.fixture(scope="module", params=[OWN, EMULATED])
def server(request, tmp_path_factory) -> Iterator[Server]:
    """The app beside the devices of this machine, then beside an emulated accelerator as well."""
    emulated = None
    if request.param == EMULATED:
        require_emulator()
        emulated = {"overhead_us": 100, "bandwidth_gbs": 20, "gflops": 200}
    with serve(tmp_path_factory.mktemp("app"), emulated) as running:
        yield running


@pytest.fixture
def is_emulated(request) -> bool:
    return request.node.callspec.params["server"] == EMULATED


@pytest.fixture
def context(chromium, server):
    """A browser of one's own; the server's log is shown if the test fails."""
    made = chromium.new_context(viewport=VIEW, accept_downloads=True)
    yield made
    made.close()
    print(f"The server's log:\n{server.log}")


@pytest.fixture
def tab(context, server) -> Iterator[Dashboard]:
    yield from _watched(context.new_page(), server)


@pytest.fixture
def second_tab(context, server) -> Iterator[Dashboard]:
    yield from _watched(context.new_page(), server)


def _watched(page: Page, server: Server) -> Iterator[Dashboard]:
    """A tab on which nothing may go wrong unseen: no exception on it, none in its console or the server's log."""
    before = len(server.log)
    dashboard = Dashboard(page, server)
    yield dashboard
    exceptions = page.get_by_test_id("stException").all_inner_texts()
    dashboard.close()
    assert not exceptions
    assert not dashboard.complaints
    assert "Traceback" not in server.log[before:], server.log[before:]


def any_results(tab: Dashboard) -> None:
    """Finished measurements on the Operations page: those of an earlier test, or else a small sweep."""
    tab.open(**SMALL)
    table = tab.keyed("take Table (CSV)")
    nothing = tab.page.get_by_test_id("stAlert").filter(has_text=re.compile("Press Run|Stopped"))
    expect(table.or_(nothing).first).to_be_visible()
    if not table.is_visible():
        tab.start()
        tab.over()


def settings_in_address(tab: Dashboard) -> dict[str, list[str]]:
    return parse_qs(urlsplit(tab.page.url).query)


# ------------------------------------------------------------ operations


def test_a_sweep_runs_to_its_end(tab, is_emulated):
    """Pressed Run, one sees curves grow, and at the end a line for each device and the numbers in a table."""
    tab.open(**SMALL)
    devices = tab.devices()
    assert devices == [CPU, MPS] or not is_emulated
    expect(tab.run_button).to_contain_text(f"Run · {3 * len(devices)} cases")
    tab.start()
    expect(tab.legend("time")).to_have_text(devices)  # from the start
    tab.over()
    expect(tab.lines("time")).to_have_count(len(devices))
    expect(tab.legend("time")).to_have_text(devices)
    for device in devices:
        expect(tab.page.get_by_test_id("stMetric").filter(has_text=f"{device} at m = 128")).to_be_visible()
    verdicts = tab.page.get_by_role("heading", level=3)
    if is_emulated:
        expect(verdicts).to_contain_text(MPS)
        expect(tab.page.get_by_text("Emulated device.")).to_be_visible()
    elif devices == [CPU]:
        expect(verdicts).to_have_count(0)
        expect(tab.page.get_by_text("No accelerator here")).to_be_visible()
    tab.page.get_by_role("tab", name="Table").click()
    rows = tab.table()
    assert [(row["m"], row["device"]) for row in rows] == [(m, d) for m in ("16", "45", "128") for d in devices]
    assert all(float(row["low"]) <= float(row["median"]) <= float(row["high"]) for row in rows)


@once
def test_the_address_holds_the_settings(tab):
    """What is chosen is in the address, so that a reload, or the same link elsewhere, chooses it again."""
    tab.open()
    tab.choose("sizes", "My own")
    tab.choose("spacing", "even")
    tab.type("count", 4)
    for slider in (tab.keyed("range").get_by_role("slider").last, tab.keyed("effort").get_by_role("slider")):
        slider.press("End")
        tab.settled()
    for key in ("range", "effort"):
        expect(tab.page).to_have_url(re.compile(f"{key}="))
    chosen = settings_in_address(tab)
    assert {key: chosen[key] for key in ("sizes", "effort", "spacing", "count")} == {
        "sizes": ["My own"],
        "effort": ["Thorough"],
        "spacing": ["even"],
        "count": ["4"],
    }
    tab.page.reload()
    tab.loaded()
    assert settings_in_address(tab) == chosen
    for key, option in (("sizes", "My own"), ("spacing", "even")):
        expect(tab.keyed(key).get_by_role("radio", name=option)).to_be_checked()
    expect(tab.keyed("effort").get_by_role("slider")).to_have_attribute("aria-valuetext", "Thorough")
    expect(tab.keyed("count").get_by_role("spinbutton")).to_have_value("4")
    expect(tab.sidebar).to_contain_text("16, 5\u202f472, 10\u202f928, 16\u202f384")


@once
def test_indonesian_is_chosen_on_the_page_and_in_the_address(tab):
    """What was chosen before stays chosen under its new name, both ways, and a link restores both."""
    tab.open()
    tab.pick("op", "Softmax")
    tab.choose("sizes", "My own")
    tab.choose("lang", "Bahasa Indonesia")
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("CPU atau GPU, dan mulai ukuran berapa?")
    expect(tab.keyed("sizes").get_by_role("radio", name="Pilihan saya")).to_be_checked()
    expect(tab.sidebar).to_contain_text("softmax setiap baris")
    tab.page.reload()
    tab.loaded()
    expect(tab.keyed("sizes").get_by_role("radio", name="Pilihan saya")).to_be_checked()
    tab.choose("lang", "English")
    expect(tab.keyed("sizes").get_by_role("radio", name="My own")).to_be_checked()
    expect(tab.sidebar).to_contain_text("the softmax of each row")


@beside
def test_downloads_of_a_sweep(tab, context, is_emulated, tmp_path):
    """Each download opens in the program it is for, and taking it leaves the page as it was."""
    tab.open(**SMALL)
    tab.start()
    tab.over()
    devices = tab.devices()
    cases = 3 * len(devices)
    tab.page.get_by_role("tab", name="Table").click()
    tab.page.evaluate(
        """() => {
            window.reruns = 0
            const app = document.querySelector("[data-testid=stApp]")
            new MutationObserver(() => window.reruns++).observe(app, {attributeFilter: ["data-test-script-state"]})
        }"""
    )
    saved = {}
    for label, ending in (("Table (CSV)", "csv"), ("Run (JSON)", "json"), ("Chart (HTML)", "html")):
        download = tab.download(label)
        assert re.fullmatch(rf"sweep-matvec-\d{{4}}-\d\d-\d\d\.{ending}", download.suggested_filename)
        saved[ending] = tmp_path / download.suggested_filename
        download.save_as(saved[ending])
    assert tab.page.evaluate("window.reruns") == 0
    expect(tab.page.get_by_role("tab", name="Table")).to_have_attribute("aria-selected", "true")
    assert len(tab.table()) == cases

    run = check_run_file(saved["json"], cases)
    assert [(o.case.size, run.label(o.case.device)) for o in run.outcomes] == [
        (m, device) for m in (16, 45, 128) for device in devices
    ]
    assert run.emulated == is_emulated
    frame = check_table_file(saved["csv"], cases)
    assert frame["median_s"].tolist() == pytest.approx([m.median_s.value for m in run.measurements])
    check_chart_file(context, saved["html"], devices, run)


@once
def test_the_camera_saves_a_picture(tab, tmp_path):
    """The camera above a chart saves it as a PNG, twice as fine as on the page; no further program is needed."""
    any_results(tab)
    chart = tab.chart("time")
    shown = chart.locator(".main-svg").first.bounding_box()
    chart.hover()
    with tab.page.expect_download() as found:
        chart.locator('.modebar-btn[data-title^="Download plot"]').click()
    assert found.value.suggested_filename == "time.png"
    found.value.save_as(tmp_path / "time.png")
    content = (tmp_path / "time.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n") and content.endswith(b"IEND\xaeB`\x82")
    assert struct.unpack(">II", content[16:24]) == pytest.approx((2 * shown["width"], 2 * shown["height"]), abs=4)
    assert len(content) > 10_000  # not an empty sheet


@once
def test_a_stopped_sweep_keeps_what_it_has(tab):
    """Stop is heard within seconds; finished cases stay, with a note that the run was stopped."""
    tab.open(**MANY)
    tab.start()
    expect(tab.chart("time").locator(".errorbar").first).to_be_attached()  # of the first finished case
    tab.stop_button.click()
    tab.over(within_s=10)
    expect(tab.page.get_by_text("Stopped.")).to_be_visible()
    tab.page.get_by_role("tab", name="Table").click()
    assert 0 < len(tab.table()) < 60 * len(tab.devices())
    expect(tab.run_button).to_be_enabled()


@once
def test_a_reload_finds_the_run_again(tab):
    """A run goes on while the page is reloaded, and the new page follows it."""
    tab.open(**LONG)
    tab.start()
    tab.page.reload()
    expect(tab.stop_button).to_be_visible()
    expect(tab.run_button).to_have_count(0)
    progress = tab.page.get_by_test_id("stProgress")
    expect(progress).to_be_visible()
    before = progress.inner_text()
    expect(progress).not_to_have_text(before)  # it is live
    expect(tab.chart("time")).to_have_count(1)


@once
def test_one_run_at_a_time(tab, second_tab):
    """A second tab sees the run of the first with Stop in place of Run; pressing an older Run starts nothing."""
    second_tab.open(**SMALL | {"op": "Matrix × matrix"})
    expect(second_tab.run_button).to_be_enabled()
    tab.open(**LONG)
    tab.start()
    second_tab.run_button.click()  # it was there before the run
    expect(second_tab.page.get_by_text("A run is already in progress; stop it first.")).to_be_visible()
    expect(second_tab.stop_button).to_be_visible()
    expect(second_tab.run_button).to_have_count(0)
    for each in (tab, second_tab):
        expect(each.page.get_by_test_id("stProgress")).to_contain_text("Matrix × vector")
    second_tab.page.reload()
    expect(second_tab.stop_button).to_be_visible()
    second_tab.stop_button.click()
    for each in (tab, second_tab):
        each.over(within_s=10)
        expect(each.page.get_by_text("Stopped.")).to_be_visible()


# ------------------------------------------------------------ training


@beside
def test_training_on_a_folder_of_images(tab, is_emulated, tmp_path):
    """Both networks learn the images of a folder, on every device alike, and the recap tells how fast."""
    folder = idx.write_learnable(tmp_path / "digits", train=1000, test=200)
    tab.open("training", images=400, batch=20, epochs=2)
    tab.pick("data", "My own files")
    expect(tab.run_button).to_be_disabled()  # which folder?
    tab.type("folder", folder)
    devices = tab.devices()
    tab.start()
    tab.over()
    expected = [(network, device) for network in ("MLP", "ConvNet") for device in devices]
    names = [f"{network} · {device}" for network, device in expected]
    expect(tab.page.get_by_text("struck out")).to_have_count(0)  # all devices gave the right answers
    for chart in ("loss", "epochs"):
        expect(tab.lines(chart)).to_have_count(len(names))
        expect(tab.legend(chart)).to_have_text(names)
    rows = tab.table()
    assert [(row["model"], row["device"]) for row in rows] == expected
    assert all(float(row["test accuracy"]) > 0.5 for row in rows)  # chance is 0.1
    assert all(min(float(row["training"]), float(row["inference"])) > 0 for row in rows)
    expect(tab.page.get_by_text("IDX files from the folder “digits”")).to_be_visible()
    if is_emulated:
        expect(tab.page.get_by_role("heading", name=re.compile(r"Training (MLP|ConvNet):.*emulated"))).to_have_count(2)

    for label, ending in (("Run (JSON)", "json"), ("Table (CSV)", "csv")):
        tab.download(label).save_as(tmp_path / f"run.{ending}")
    run = check_run_file(tmp_path / "run.json", 3 * len(expected))
    trained = [m for m in run.measurements if m.case.workload.endswith("/train")]
    assert [m.learning.test_accuracy for m in trained] == [float(row["test accuracy"]) for row in rows]
    assert all(m.learning.losses[0][1] > m.learning.losses[-1][1] for m in trained)  # of two epochs at least
    frame = check_table_file(tmp_path / "run.csv", 3 * len(expected))
    assert set(frame["workload"]) == {"mlp/train", "mlp/infer", "convnet/train", "convnet/infer"}
    assert str(folder.parent) not in (tmp_path / "run.json").read_text(encoding="utf-8")  # whose folder it was


# ------------------------------------------------------------ bad input, and what is here


@once
def test_a_wrong_number_of_sizes_is_told(tab):
    """An impossible number is answered in a sentence beside it, Run waits, and finished results stay."""
    any_results(tab)
    devices = tab.devices()
    for typed, said in ((0, "must be from 1 to 200"), (201, "must be from 1 to 200")):
        tab.type("count", typed)
        check_refusal(tab, said)
        expect(tab.legend("time")).to_have_text(devices)
    tab.type("count", 3)
    expect(tab.run_button).to_be_enabled()
    expect(tab.sidebar.get_by_role("alert")).to_have_count(0)


@once
def test_wrong_training_settings_are_told(tab, tmp_path):
    """A plan that cannot be trained is answered in one sentence in the sidebar, before anything is started."""
    tab.open("training", data="Synthetic")
    expect(tab.run_button).to_be_enabled()
    tab.type("epochs", 0)
    check_refusal(tab, "Epochs must be from 1 to 20, and 0 is not.")
    tab.type("epochs", 1)
    tab.type("images", 100)
    check_refusal(tab, "A batch of 128 needs at least as many images, and there are 100")
    tab.type("images", 129)
    check_refusal(tab, "129 images in batches of 128 leave a last batch of 1, on which MLP cannot train")
    tab.type("images", 130)
    expect(tab.run_button).to_be_enabled()
    tab.pick("data", "My own files")
    tab.type("folder", tmp_path / "nowhere")
    check_refusal(tab, "There is no folder")
    tab.type("folder", tmp_path)  # is there, without images: seen when they are read
    expect(tab.sidebar.get_by_role("alert")).to_have_count(0)
    tab.run_button.click()
    expect(tab.page.get_by_test_id("stMain").get_by_role("alert").filter(has_text="IDX files")).to_be_visible()
    tab.over()


def test_this_machine(tab, is_emulated):
    """The page of the machine names Python, PyTorch and the CPU, and says why MPS is absent where it is."""
    tab.open("machine")
    main = tab.page.get_by_test_id("stMain")
    for name, text in (("python", r"Python 3\.\d+"), ("torch", r"\d+\.\d+"), ("CPU", r"\w+")):
        badge = main.get_by_test_id("stMarkdown").filter(has_text=re.compile(rf"\b{name}$"))
        expect(badge.first).to_be_visible()
        expect(main).to_contain_text(re.compile(rf"{name}\s*{text}"))
    if is_emulated:
        expect(main).to_contain_text("Emulated MPS (not real hardware)")
    elif sys.platform != "darwin":
        expect(main).to_contain_text("MPS needs a Mac with Apple Silicon; this is")


# ------------------------------------------------------------ what is in a file


def check_refusal(tab: Dashboard, said: str) -> None:
    """One sentence in the sidebar; Run can't be pressed."""
    expect(tab.sidebar.get_by_role("alert")).to_have_count(1)
    expect(tab.sidebar.get_by_role("alert")).to_contain_text(said)
    expect(tab.run_button).to_be_disabled()
    expect(tab.page.get_by_text("Traceback")).to_have_count(0)


def check_run_file(path: Path, cases: int):
    """Strict JSON that reads back as a run."""
    text = path.read_text(encoding="utf-8")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    data = json.loads(text, parse_constant=refuse)
    assert data["schema_version"] == 2
    assert len(data["results"]) == cases
    for entry in data["results"]:
        assert set(entry["case"]) == {"workload", "size", "device", "dtype", "threads", "layout", "compiled"}
        assert entry["status"] in ("converged", "noisy", "timed out")
        median = entry["median_s"]
        assert 0 < median["low"] <= median["value"] <= median["high"] < 10
        assert entry["first_call_s"] > 0
        assert entry["samples_s"] and all(seconds > 0 for seconds in entry["samples_s"])
    run = from_json(text)
    assert len(run.outcomes) == cases and not run.failures
    return run


def check_table_file(path: Path, cases: int) -> pd.DataFrame:
    """A table that spreadsheets and pandas read alike."""
    content = path.read_bytes()
    assert content.startswith(codecs.BOM_UTF8)
    frame = pd.read_csv(path)
    assert len(frame) == cases
    assert all(name.isascii() and name == name.strip() for name in frame.columns)
    assert (frame["median_s"] > 0).all()
    plain = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert {len(row) for row in plain} == {len(frame.columns)}
    return frame


def check_chart_file(context, path: Path, devices: list[str], run) -> None:
    """A page that shows its chart without a network, and says where the numbers come from."""
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    try:
        page.goto(path.as_uri())
        expect(page.locator(".js-plotly-plot .scatterlayer .js-line")).to_have_count(len(devices))
        expect(page.locator(".js-plotly-plot .legendtext")).to_have_text(devices)
        text = page.locator(".js-plotly-plot").inner_text()
    finally:
        page.context.set_offline(False)
        page.close()
    assert all(urlsplit(url).scheme in ("file", "data", "blob") for url in asked)
    wanted = [run.environment.chip, f"PyTorch {run.environment.torch}", run.environment.captured_at[:10]]
    wanted += ["EMULATED device, not real hardware"] if run.emulated else []
    assert [part for part in wanted if part not in text] == []
