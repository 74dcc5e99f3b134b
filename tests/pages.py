"""Drives the real page: starts the app in a process of its own, and does in a browser what a person does."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from emulator import PREFIX, emulated_command, emulator_environment
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Download, Locator, Page

ROOT = Path(__file__).resolve().parent.parent
STARTS_S = 90.0  # the server answers, and PyTorch is there: seconds, or many on a busy machine
ANSWERS_S = 30.0  # the page has done what was asked of it
ENDS_S = 300.0  # a run is over: well within a minute on a quiet machine, but another test may run beside it
expect.set_options(timeout=1000 * ANSWERS_S)
APP = ("-m", "streamlit", "run", "app.py")


@dataclass(frozen=True)
class Server:
    """The app, running."""

    address: str
    log_file: Path
    process: subprocess.Popen

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")


@contextmanager
def serve(folder: Path, emulated: dict | None = None, program: Sequence[str] = APP) -> Iterator[Server]:
    """The app on a free port, with ``folder`` as its home; ``emulated``: settings of an emulated MPS device."""
    port = _free_port()
    arguments = [*program, "--server.port", str(port), "--server.headless", "true"]
    if emulated is None:
        command = [sys.executable, *arguments]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
    else:
        command, environment = emulated_command(arguments, **emulated), emulator_environment()
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment | {"BENCH_HOME": str(folder / "home")}, stdout=out, stderr=out
        )
    server = Server(f"http://127.0.0.1:{port}", log, process)
    try:
        _wait_until_it_answers(process, port, server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _wait_until_it_answers(process: subprocess.Popen, port: int, server: Server) -> None:
    deadline = time.monotonic() + STARTS_S
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        try:
            code = process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"The server ended with exit code {code}:\n{server.log}")
    raise AssertionError(f"The server did not answer within {STARTS_S:.0f} s:\n{server.log}")


@dataclass
class Dashboard:
    """One tab of the browser on the app. Settings are addressed by their widgets' keys."""

    page: Page
    server: Server
    complaints: list[str] = field(default_factory=list)  # of the browser's console

    def __post_init__(self) -> None:
        self.page.set_default_timeout(1000 * ANSWERS_S)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)

    def open(self, path: str = "", **settings) -> None:
        """Open a page by a link with these settings, and wait until PyTorch is there."""
        query = {key: str(value) if isinstance(value, int) else value for key, value in settings.items()}
        self.page.goto(f"{self.server.address}/{path}?{urlencode(query, doseq=True)}")
        self.loaded()

    def loaded(self) -> None:
        """Wait until the page knows the devices and stands still, or follows a run."""
        facts = self.page.get_by_text("Everything this program writes")
        expect(self.keyed("devices").or_(facts)).to_be_visible(timeout=1000 * STARTS_S)
        self.settled()

    def settled(self) -> None:
        """Wait until the script of the page has come to its end."""
        expect(self.page.locator('[data-testid=stApp][data-test-script-state="notRunning"]')).to_have_count(1)

    def keyed(self, key: str) -> Locator:
        """The widget with this key."""
        return self.page.locator(f".st-key-{re.sub('[^A-Za-z0-9_-]', '-', key)}")

    @property
    def run_button(self) -> Locator:
        return self.keyed("run").get_by_role("button")

    @property
    def stop_button(self) -> Locator:
        return self.keyed("stop").get_by_role("button")

    @property
    def sidebar(self) -> Locator:
        return self.page.get_by_test_id("stSidebar")

    def choose(self, key: str, option: str) -> None:
        """Click one of the options of a segmented control or of pills."""
        self.keyed(key).get_by_text(option, exact=True).click()
        self.settled()

    def pick(self, key: str, option: str) -> None:
        """Take one of the options of a list that opens."""
        self.keyed(key).get_by_role("combobox").click()
        self.page.get_by_role("option", name=option, exact=True).click()
        self.settled()

    def type(self, key: str, text: object) -> None:
        """Replace what stands in a field, and press Enter."""
        entry = self.keyed(key).get_by_role("textbox").or_(self.keyed(key).get_by_role("spinbutton"))
        entry.fill(str(text))
        entry.press("Enter")
        self.settled()

    def start(self) -> None:
        """Press Run, which then is Stop."""
        expect(self.run_button).to_be_enabled(timeout=1000 * STARTS_S)
        self.run_button.click()
        expect(self.stop_button).to_be_visible()
        expect(self.run_button).to_have_count(0)

    def over(self, within_s: float = ENDS_S) -> None:
        """Wait for the end of a run and of the page's drawing its results."""
        expect(self.run_button).to_be_visible(timeout=1000 * within_s)
        expect(self.stop_button).to_have_count(0)
        self.settled()

    def devices(self) -> list[str]:
        """Labels of those that can be chosen."""
        buttons = self.keyed("devices").get_by_role("toolbar").get_by_role("button")
        expect(buttons.first).to_be_visible()  # asking for all texts does not wait
        return buttons.all_inner_texts()

    def chart(self, name: str) -> Locator:
        """A Plotly chart, in the tab that is shown or in another."""
        return self.keyed(f"chart {name}").locator(".js-plotly-plot")

    def legend(self, chart: str) -> Locator:
        """The entries of a chart's legend."""
        return self.chart(chart).locator(".legendtext")

    def lines(self, chart: str) -> Locator:
        """The lines drawn; there is none through a single point."""
        return self.chart(chart).locator(".scatterlayer .js-line")

    def table(self) -> list[dict[str, str]]:
        """The visible table, row by row, as the browser offers it to a screen reader."""
        grid = self.page.locator("canvas[data-testid=data-grid-canvas]:visible table")
        expect(grid.locator("tbody tr").first).to_be_attached()
        head, *rows = grid.evaluate("grid => [...grid.rows].map(row => [...row.cells].map(cell => cell.textContent))")
        return [dict(zip(head, row, strict=True)) for row in rows]

    def download(self, label: str) -> Download:
        """What a download button gives."""
        with self.page.expect_download() as found:
            self.keyed(f"take {label}").get_by_role("button").click()
        return found.value

    def close(self) -> None:
        """Stop what still runs, for the next one on the same server."""
        if self.page.is_closed():
            return
        if self.stop_button.is_visible():
            self.stop_button.click()
            self.over()
        self.page.close()

    def _hear(self, message) -> None:
        url = message.location.get("url", "")
        outside = message.text.startswith("Failed to load resource: net::") and not url.startswith(self.server.address)
        search = "/_stcore/" in url and "404" in message.text  # Streamlit looks for its own root under /page first
        if message.type == "error" and not (outside or search):
            self.complaints.append(f"{message.text} ({url})")
