"""What passes on the CPU passes beside an accelerator too: the same tests, with the emulated ``mps`` device."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from emulator import emulated_command, emulator_environment, require_emulator

from bench.export import from_json

ROOT = Path(__file__).parent.parent
FAST = {"overhead_us": 20, "bandwidth_gbs": 20, "gflops": 200}


@pytest.mark.parametrize("name", ["test_workloads.py", "test_training.py", "test_app.py", "test_cli.py"])
def test_the_same_tests_pass_with_an_accelerator(name):
    require_emulator()
    command = emulated_command(["-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/{name}"], **FAST)
    done = subprocess.run(command, env=emulator_environment(), cwd=ROOT, capture_output=True, text=True, timeout=600)
    summary = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    assert done.returncode == 0 and re.fullmatch(r"\d+ passed.*", summary) and "skipped" not in summary, (
        done.stdout[-4000:] + done.stderr[-2000:]
    )


def test_the_sweep_reads_the_emulated_devices_true_time(tmp_path):
    """Within 3 %, for sizes whose true time is well above what the CPU needs to compute them on a busy machine."""
    require_emulator()
    script = tmp_path / "truth.py"
    script.write_text(
        "import sys, json, emulated_mps\n"
        "from bench.__main__ import main\n"
        "sizes = ['--sizes', '500,1000,1500', '--effort', 'standard']\n"
        "code = main(['sweep', *sizes, '--devices', 'mps', '--out', sys.argv[1]])\n"
        "truth = {n: emulated_mps.true_seconds('mv', n) for n in (500, 1000, 1500)}\n"
        "print(json.dumps(truth), flush=True)\n"
        "import os; os._exit(code)\n"
    )

    out = tmp_path / "run.json"
    command = emulated_command([script, out], overhead_us=200, bandwidth_gbs=0.2, gflops=20)
    environment = emulator_environment()
    environment["PYTHONPATH"] = os.pathsep.join((str(ROOT), environment["PYTHONPATH"]))
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    truth = json.loads(done.stdout.strip().splitlines()[-1])
    run = from_json(out.read_text())
    assert run.emulated
    for m in run.measurements:
        assert m.median_s.value == pytest.approx(truth[str(m.case.size)], rel=0.03), m.case
