"""Programs run with the emulated ``mps`` device of ``tests/emulated_mps``, each in a process of its own.

The device can't be taken out of a process again, so the process that runs the tests never installs it.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

from ci import skip_or_fail

TESTS = Path(__file__).resolve().parent
PREFIX = "EMULATED_MPS_"
KEPT = PREFIX + "BUILD_DIR"  # where the compiled part lies: a place, not a setting of the device


def _texts(settings: dict) -> dict[str, str]:
    """Settings as text: a list of operators becomes names separated by commas."""
    return {k: ",".join(v) if isinstance(v, (list, tuple, set)) else str(v) for k, v in settings.items()}


def emulator_environment(**settings) -> dict[str, str]:
    """The environment for a process that may import ``emulated_mps``, with these settings and no inherited one.

    It alone gives no device: start the program by ``emulated_command``, or call ``emulated_mps.install()`` in it.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX) or k == KEPT}
    path = os.pathsep.join(filter(None, (str(TESTS), inherited.get("PYTHONPATH"))))
    chosen = {PREFIX + name.upper(): text for name, text in _texts(settings).items()}
    return {**inherited, "PYTHONPATH": path, **chosen}


def emulated_command(args: list[str], **settings) -> list[str]:
    """The command that runs ``python *args`` (a script, or ``-m module``) with the device and these settings.

    To be started with ``emulator_environment()``. Processes that the program starts have the device too.
    """
    chosen = [part for name, text in _texts(settings).items() for part in ("--set", f"{name}={text}")]
    return [sys.executable, "-m", "emulated_mps", *chosen, *map(str, args)]


def run_emulated(script: Path, *arguments, environment=(), timeout_s: float = 300, **settings):
    """Run a script that may import the program where the device with these settings is; a CompletedProcess.

    On one thread, since real computing must not take longer than the model says.
    """
    require_emulator()
    variables = emulator_environment() | dict(environment) | {"OMP_NUM_THREADS": "1"}
    variables["PYTHONPATH"] = os.pathsep.join((str(TESTS.parent), variables["PYTHONPATH"]))
    command = emulated_command([script, *arguments], **settings)
    return subprocess.run(command, env=variables, cwd=TESTS.parent, capture_output=True, text=True, timeout=timeout_s)


@functools.cache
def _why_not() -> str | None:
    """Why there is no emulated device here, by trying: real MPS, no compiler or headers, an unfit PyTorch."""
    # install() runs a backward pass, and PyTorch's thread of it aborts the process if Python ends before that thread
    # has put its task away (seen in every second run on 2 busy cores); so this one leaves without Python's ending
    code = "import os, emulated_mps; emulated_mps.install(); os._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=emulator_environment(),
        capture_output=True,
        text=True,
        timeout=900,  # the first time compiles, a minute on two free cores
    )
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    errors = [line for line in said if line.startswith(("RuntimeError", "ImportError", "OSError"))]
    return (errors or said or [f"exit code {done.returncode}"])[-1]


def require_emulator() -> None:
    """Skips the running test, with the reason, where the emulated device can't be had; in CI fails it."""
    if reason := _why_not():
        skip_or_fail(f"no emulated mps device here: {reason}")
