"""The command line: exit codes, sentences, files."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from bench.cli.main import main
from bench.cli.usage import FAILED, OK, USAGE
from bench.records.measurement import CONVERGED, NOISY
from bench.storage.reading import from_json

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_sweep_writes_a_run_that_loads(tmp_path, capsys):
    out = tmp_path / "run.json"
    assert main(["sweep", "--op", "matmul", "--sizes", "16,64", "--effort", "quick", "--out", str(out)]) == OK
    run = from_json(out.read_text())
    assert {o.case.size for o in run.outcomes} == {16, 64}
    assert all(o.status in (CONVERGED, NOISY) for o in run.outcomes)
    assert "matmul · 64 · cpu" in capsys.readouterr().out


def test_a_training_writes_a_table(tmp_path):
    out = tmp_path / "run.csv"
    arguments = [
        "train",
        "--models",
        "mlp",
        "--data",
        "synthetic",
        "--images",
        "500",
        "--batch",
        "100",
        "--out",
        str(out),
    ]
    assert main(arguments) == OK
    frame = pd.read_csv(out)
    assert set(frame.workload) == {"mlp/train", "mlp/infer"}
    assert (frame.total_s > 0).all() and (frame.test_accuracy[frame.workload == "mlp/train"] > 0.1).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["sweep", "--op", "fft"], "'fft'"), (["sweep", "--sizes", "64,32"], "must ascend"),
     (["sweep", "--sizes", "x"], "'x'"), (["sweep", "--effort", "huge"], "'huge'"),
     (["sweep", "--devices", "tpu"], "no device 'tpu'"), (["sweep", "--devices", "cpu,cpu"], "once"),
     (["sweep", "--out", "run.txt"], ".json or .csv"), (["sweep", "--out", "/no/such/folder/run.json"], "no folder"),
     (["train", "--epochs", "0"], "Epochs"), (["train", "--epochs", "many"], "invalid int"),
     (["train", "--images", "0"], "Images"), (["train", "--images", "64"], "A batch of 128"),
     (["train", "--images", "129"], "batch normalisation"), (["train", "--models", ""], "at least one model"),
     (["train", "--data", "/no/such/folder"], "no folder"), ([], "required"), (["fly"], "invalid choice"),
     (["sweep", "--fast"], "--fast")],
)  # fmt: skip
def test_bad_usage_is_one_sentence_and_2(arguments, says, capsys):
    assert main(arguments) == USAGE
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1, said.err
    assert says in said.err


def test_missing_images_fail_with_a_sentence_that_says_what_to_do(capsys):
    assert main(["train", "--images", "256"]) == FAILED
    said = capsys.readouterr()
    assert "Traceback" not in said.err and "synthetic" in said.err


def test_a_file_that_cannot_be_written_is_told_before_measuring(tmp_path, capsys):
    (tmp_path / "run.json").mkdir()
    assert main(["sweep", "--out", str(tmp_path / "run.json")]) == USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_doctor_tells_what_is_here_and_why_something_is_not(capsys, home):
    assert main(["doctor"]) == OK
    said = capsys.readouterr().out
    for word in ("python", "torch", "CPU", "MPS", str(home), "Fashion-MNIST"):
        assert word in said


def test_everything_written_lies_in_the_home_folder(tmp_path, home):
    main(["doctor"])
    assert sorted(p.name for p in tmp_path.iterdir()) == [home.name]


def _hear_ctrl_c():
    """Tests that a script started in the background inherit a Ctrl-C that is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
def test_ctrl_c_keeps_finished_cases_and_ends_soon(tmp_path):
    out = tmp_path / "run.json"
    command = [sys.executable, "-m", "bench", "sweep", "--sizes", ",".join(map(str, range(100, 4000, 100))),
               "--effort", "standard", "--devices", "cpu", "--out", str(out)]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_hear_ctrl_c
    )
    time.sleep(12)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 6
    assert process.returncode == FAILED, errors
    assert "Traceback" not in errors
    assert json.loads(out.read_text())["results"], "the finished cases are in the file"
