"""Finds and starts the browser that the tests of the real page use."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ci import skip_or_fail

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

VARIABLE = "BENCH_BROWSER"
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
MAC_APPS = ("Google Chrome", "Chromium", "Microsoft Edge")
WINDOWS_FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
WINDOWS_PATHS = ("Google/Chrome/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe")
ARGUMENTS = (
    "--no-sandbox",  # Chromium refuses its sandbox to root, which containers and CI often are
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers give /dev/shm 64 MB, and pages crash
    # silence: without these it calls its maker's hosts, many times a second where the network is closed
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@functools.cache
def _of_playwright() -> str | None:
    """The Chromium that ``playwright install chromium`` fetched, if it did.

    Asked in a process of its own: Playwright's synchronous interface can't be started twice in one.
    """
    code = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as playwright: print(playwright.chromium.executable_path)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    path = done.stdout.strip()
    return path if done.returncode == 0 and os.path.isfile(path) else None


def _installed_apps() -> list[Path]:
    apps = [Path(f"/Applications/{name}.app/Contents/MacOS/{name}") for name in MAC_APPS]
    folders = [os.environ[name] for name in WINDOWS_FOLDERS if os.environ.get(name)]
    return apps + [Path(folder, path) for folder in folders for path in WINDOWS_PATHS]


def find_browser() -> str | None:
    """The path of a Chromium, Chrome or Edge, or None.

    ``BENCH_BROWSER``, a path or command, decides alone where it is set: a wrong one finds nothing rather than
    some other browser.
    """
    if named := os.environ.get(VARIABLE):
        return shutil.which(named)
    on_path = (shutil.which(command) for command in COMMANDS)
    apps = (str(app) for app in _installed_apps() if app.is_file())
    return next(filter(None, on_path), None) or next(apps, None) or _of_playwright()


def require_browser() -> str:
    """The path of a browser; without one the running test is skipped, in CI it fails."""
    if path := find_browser():
        return path
    if named := os.environ.get(VARIABLE):
        skip_or_fail(f"{VARIABLE} names no program that can be started: {named}")
    skip_or_fail(
        "no Chromium, Chrome or Edge found: install one, run `playwright install chromium`, or set " + VARIABLE
    )


def launch(playwright: Playwright, **options) -> Browser:
    """Starts the browser headless; ``options`` are those of Playwright's own ``launch``."""
    arguments = [*ARGUMENTS, *options.pop("args", ())]
    return playwright.chromium.launch(executable_path=require_browser(), args=arguments, **options)
