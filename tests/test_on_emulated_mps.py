"""What passes on the CPU passes beside an accelerator too: the same tests, with the emulated ``mps`` device."""

import re
import subprocess
from pathlib import Path

import pytest
from emulator import emulated_command, emulator_environment, require_emulator

ROOT = Path(__file__).parent.parent
FAST = {"overhead_us": 20, "bandwidth_gbs": 20, "gflops": 200}


CHOSEN = {
    # without the large networks, whose operators the emulator takes apart one by one, and what measures the CPU alone
    "not other_networks and not ctrl_c": (
        "workloads/test_workloads.py",
        "measure/test_training.py",
        "cli/test_commands.py",
    ),
    "sweep_ends or itself or absent or training_ends": ("ui/test_app.py",),  # where the device makes a difference
}


@pytest.mark.parametrize("which", CHOSEN, ids=lambda which: " ".join(CHOSEN[which]))
def test_the_same_tests_pass_with_an_accelerator(which):
    require_emulator()
    files = [f"tests/{name}" for name in CHOSEN[which]]
    command = emulated_command(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", which, *files], **FAST)
    done = subprocess.run(command, env=emulator_environment(), cwd=ROOT, capture_output=True, text=True, timeout=600)
    summary = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    passed = done.returncode == 0 and re.fullmatch(r"\d+ passed(, \d+ deselected)? in .*", summary)
    assert passed and "skipped" not in summary, done.stdout[-4000:] + done.stderr[-2000:]
