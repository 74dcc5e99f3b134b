"""The emulated device the other tests stand on: it is there, it obeys, and its own tests pass."""

import json
import subprocess
import sys

import pytest
from emulator import TESTS, emulated_command, emulator_environment, require_emulator

PROBE = """
import json, os, sys, torch, emulated_mps
settings = emulated_mps.settings()
print(json.dumps({
    "name": torch.backends.mps.get_name(),
    "sum": torch.ones(7, device="mps").sum().item(),
    "gflops": settings["gflops"],
    "wrong_ops": sorted(settings["wrong_ops"]),
    "fail_at": settings["fail_at"],
    "arguments": sys.argv[1:],
}), flush=True)
os._exit(0)  # so soon after install() Python's own ending could abort: see emulator.py
"""


def probe(tmp_path, command_settings, environment_settings):
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    command = emulated_command([script, "an argument"], **command_settings)
    environment = emulator_environment(**environment_settings)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(done.stdout)


def test_a_program_gets_the_device_with_the_settings_of_its_command(tmp_path):
    require_emulator()
    found = probe(tmp_path, {"gflops": 12.5, "wrong_ops": ["mm", "mv"]}, {})
    assert found["name"] == "Emulated MPS (not real hardware)"
    assert found["sum"] == 7
    assert (found["gflops"], found["wrong_ops"]) == (12.5, ["mm", "mv"])
    assert found["arguments"] == ["an argument"]


def test_settings_come_by_the_environment_too_and_none_is_inherited(tmp_path, monkeypatch):
    require_emulator()
    monkeypatch.setenv("EMULATED_MPS_FAIL_AT", "1")
    found = probe(tmp_path, {}, {"gflops": 3, "wrong_ops": ("mm", "mv")})
    assert (found["gflops"], found["wrong_ops"], found["fail_at"]) == (3, ["mm", "mv"], 0)


def test_the_folder_of_compiled_parts_is_inherited(monkeypatch):
    monkeypatch.setenv("EMULATED_MPS_BUILD_DIR", "somewhere")
    assert emulator_environment()["EMULATED_MPS_BUILD_DIR"] == "somewhere"


@pytest.mark.alone  # some of them hold the device to the times of its model
def test_the_emulators_own_tests_pass_in_a_process_of_their_own(tmp_path):
    """They compare times with the truth and want a quiet machine, so what failed may try again, twice, alone."""
    require_emulator()
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-o", f"cache_dir={tmp_path}"]
    suite = str(TESTS / "emulated_mps" / "test_emulated_mps.py")
    for again in ([], ["--last-failed"], ["--last-failed"]):
        done = subprocess.run(
            [*command, *again, suite],
            cwd=TESTS,
            env=emulator_environment(),
            capture_output=True,
            text=True,
            timeout=900,
        )
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "passed" in done.stdout and "skipped" not in done.stdout
