"""JSON is the record: what goes out comes back. CSV is a view that opens in a spreadsheet."""

import csv
import io
import json
from dataclasses import replace

import pandas as pd
import pytest
from fakes import ENVIRONMENT, measurement, sweep
from hypothesis import given
from hypothesis import strategies as st
from told import raises

from bench.records.case import Case
from bench.records.cost import Cost
from bench.records.measurement import Failure, Learning, Measurement
from bench.records.run import Run
from bench.storage.reading import SCHEMA_VERSION, FileError, from_json
from bench.storage.writing import to_json
from bench.text.table import COLUMNS, to_csv


@pytest.fixture
def run():
    """CPU against MPS at two sizes, and one failure."""
    points = {256: {"cpu": 1e-5, "mps": 3e-5}, 1024: {"cpu": 2e-4, "mps": 4e-5}}
    return sweep(points, failures=[(8192, "mps", "MPS backend out of memory")])


@pytest.fixture
def trained():
    learning = Learning(
        100, "synthetic stand-in", (1.5, 1.25), {"loading": (0.1, 0.2), "copy": (0.01, 0.02)},
        ((50, 2.3), (100, 1.1)), 1.7, 0.875,
    )  # fmt: skip
    outcome = replace(measurement("cpu", 128, 0.01, "mlp/train"), learning=learning)
    return Run(
        "training",
        ENVIRONMENT,
        {"networks": ["mlp"], "epochs": 2, "data": "synthetic stand-in", "images": 100},
        (outcome,),
    )


def test_json_reads_back(run, trained):
    assert from_json(to_json(run)) == run
    assert from_json(to_json(trained)) == trained
    assert from_json(to_json(run).encode()) == run


positive = st.floats(1e-9, 1e6)
measurements = st.builds(
    lambda samples, first, size, device: Measurement(
        Case("matvec", size, device), Cost(1, 1), "converged", "", first, 3, tuple(samples), (len(samples),)
    ),
    st.lists(positive, min_size=1, max_size=8), positive, st.integers(16, 16384), st.sampled_from(["cpu", "mps"]),
)  # fmt: skip
failed = st.builds(lambda why: Failure(Case("matvec", 16, "xpu"), why), st.text(max_size=30))


@given(st.lists(measurements | failed, max_size=6, unique_by=lambda outcome: outcome.case))
def test_any_run_reads_back_and_has_a_row_a_case(outcomes):
    environment = replace(ENVIRONMENT, devices=dict.fromkeys(("cpu", "mps", "xpu"), "x"))
    run = Run("sweep", environment, {"operation": "matvec", "sizes": [16]}, tuple(outcomes))
    assert from_json(to_json(run)) == run
    rows = list(csv.DictReader(io.StringIO(to_csv(run).decode("utf-8-sig"), newline="")))
    assert len(rows) == len(outcomes)
    for row, outcome in zip(rows, outcomes, strict=True):
        if isinstance(outcome, Measurement):
            assert float(row["median_s"]) == outcome.median_s.value
        else:
            assert row["median_s"] == "" and not row["reason"].startswith(("=", "+", "-", "@"))


def test_an_entry_has_what_readers_look_for(run):
    data = json.loads(to_json(run))
    assert data["schema_version"] == SCHEMA_VERSION and data["environment"]["chip"] == "Apple M1 Pro"
    entry = data["results"][0]
    usual = {"dtype": "float32", "threads": 0, "layout": "contiguous", "compiled": False}
    assert entry["case"] == {"workload": "matvec", "size": 256, "device": "cpu"} | usual
    assert entry["status"] == "converged" and len(entry["samples_s"]) == 80 and entry["first_call_s"] == 0.1
    assert entry["median_s"]["low"] <= entry["median_s"]["value"] <= entry["median_s"]["high"]
    assert data["results"][-1] == {
        "case": {"workload": "matvec", "size": 8192, "device": "mps"} | usual,
        "status": "failed", "error": "MPS backend out of memory",
    }  # fmt: skip


def test_csv_has_ascii_headers_with_units_and_opens_in_excel_and_pandas(run):
    data = to_csv(run)
    assert data.startswith(b"\xef\xbb\xbf"), "Excel takes it for UTF-8 only with a byte-order mark"
    frame = pd.read_csv(io.BytesIO(data))
    assert tuple(frame.columns) == COLUMNS and all(name.isascii() for name in frame.columns)
    assert frame.median_s.notna().tolist() == [True] * 4 + [False]
    assert frame.speedup_vs_cpu[3] == pytest.approx(5, rel=1e-6)
    assert frame.reason.iloc[-1] == "MPS backend out of memory"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-cmd", "@x", "\tx", "\nx", " =1", "＝1", "|calc"])
def test_no_cell_starts_a_formula(text):
    run = sweep({}, failures=[(16, "cpu", text)])
    row = next(csv.DictReader(io.StringIO(to_csv(run).decode("utf-8-sig"), newline="")))
    assert row["reason"] == "'" + text


@pytest.mark.parametrize(
    ("change", "says"),
    [(lambda d: d.update(schema_version=SCHEMA_VERSION + 1), "newer than"),
     (lambda d: d.update(schema_version="x"), "'x'"),
     (lambda d: d.pop("schema_version"), "no schema_version"),
     (lambda d: d.update(results={}), "results must be a list"),
     (lambda d: d.pop("environment"), "environment"),
     (lambda d: d["environment"].pop("chip"), "environment.chip"),
     (lambda d: d["results"][1].update(samples_s=[1, "x"]), "results[1].samples_s.1"),
     (lambda d: d["results"][1].update(samples_s=[]), "results[1].samples_s"),
     (lambda d: d["results"][0].update(samples_s=[-1.0] * 80), "times above 0"),
     (lambda d: d["results"][0].update(rounds=[3]), "results[0].rounds must add up"),
     (lambda d: d["results"][0].pop("case"), "results[0].case")],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_and_where(run, change, says):
    data = json.loads(to_json(run))
    change(data)
    with raises(FileError) as error:
        from_json(json.dumps(data))
    assert says in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"schema_version": NaN}', b"\xff\xfe", "[" * 100_000])
def test_what_is_no_run_is_refused(text):
    with raises(FileError):
        from_json(text)


def test_numbers_that_are_not_numbers_never_leave(run):
    broken = replace(run.outcomes[0], first_call_s=float("nan"))
    with pytest.raises(ValueError):
        to_json(replace(run, outcomes=(broken,)))
