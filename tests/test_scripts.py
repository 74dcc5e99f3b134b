"""Every script that is shipped runs on a small input and prints. What it finds is a measurement, and not asserted."""

import subprocess
import sys
from pathlib import Path

import pytest
from browser import require_browser

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests/performance"
SMALL = {  # the smallest input of each
    "autorange.py": ["--rounds", "1", "--sizes", "100"],
    "calibrate.py": ["--sizes", "100", "--dtypes", "float32"],
    "disturbance.py": ["--rounds", "1", "--effort", "quick"],
    "gpu_faults.py": [],
    "page_speed.py": ["--tries", "1", "--runs", "20", "--seconds", "6"],
    "verification.py": ["costs", "--sizes", "64", "--operations", "matvec,sort"],
}
IN_A_BROWSER = ("disturbance.py", "page_speed.py")
ELSEWHERE = {"soak.py"}  # test_survival.py runs it


def test_every_script_is_here():
    assert {path.name for path in FOLDER.glob("*.py")} == set(SMALL) | ELSEWHERE


@pytest.mark.parametrize("name", SMALL)
def test_a_script_runs_and_prints(name, tmp_path):
    if name in IN_A_BROWSER:
        require_browser()
    command = [sys.executable, str(FOLDER / name), *SMALL[name]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=600)
    assert done.stdout.strip() and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert done.returncode in (0, 1), "1 where a goal was missed"
