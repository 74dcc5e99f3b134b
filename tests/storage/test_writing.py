"""JSON is the record: what goes out comes back. CSV is a view that opens in a spreadsheet."""

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fakes import ENVIRONMENT, measurement, sweep
from hypothesis import given
from hypothesis import strategies as st
from told import raises

from bench.records.case import Case
from bench.records.cost import Cost
from bench.records.measurement import RIGHT, Check, Failure, Learning, Measurement
from bench.records.reason import Quantity, because, quoted
from bench.records.run import Run
from bench.storage.reading import LONGEST_TEXT, SCHEMA_VERSION, FileError, from_json
from bench.storage.writing import to_json
from bench.text.language import speaking
from bench.text.table import COLUMNS, to_csv
from bench.text.tell import tell

VERSION_1 = Path(__file__).parents[1] / "files" / "version-1.json"


@pytest.fixture
def run():
    """CPU against MPS at two sizes, and one failure."""
    points = {256: {"cpu": 1e-5, "mps": 3e-5}, 1024: {"cpu": 2e-4, "mps": 4e-5}}
    return sweep(points, failures=[(8192, "mps", "MPS backend out of memory")])


@pytest.fixture
def trained():
    learning = Learning(
        100,
        "synthetic stand-in",
        (1.5, 1.25),
        {"loading": (0.1, 0.2), "copy": (0.01, 0.02)},
        ((50, 2.3), (100, 1.1)),
        1.7,
        0.875,
    )
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
        Case("matvec", size, device), Cost(1, 1), "converged", None, first, 3, tuple(samples), (len(samples),)
    ),
    st.lists(positive, min_size=1, max_size=8),
    positive,
    st.integers(16, 16384),
    st.sampled_from(["cpu", "mps"]),
)
failed = st.builds(lambda why: Failure(Case("matvec", 16, "xpu"), quoted(why)), st.text(max_size=30))


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
        "status": "failed",
        "error": {"kind": "text", "text": "MPS backend out of memory"},
    }


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
    [
        (lambda d: d.update(schema_version=SCHEMA_VERSION + 1), "newer than"),
        (lambda d: d.update(schema_version="x"), "'x'"),
        (lambda d: d.pop("schema_version"), "no schema_version"),
        (lambda d: d.update(results={}), "results must be a list"),
        (lambda d: d.pop("environment"), "environment"),
        (lambda d: d["environment"].pop("chip"), "environment.chip"),
        (lambda d: d["results"][1].update(samples_s=[1, "x"]), "results[1].samples_s.1"),
        (lambda d: d["results"][1].update(samples_s=[]), "results[1].samples_s"),
        (lambda d: d["results"][0].update(samples_s=[-1.0] * 80), "times above 0"),
        (lambda d: d["results"][0].update(rounds=[3]), "results[0].rounds must add up"),
        (lambda d: d["results"][0].pop("case"), "results[0].case"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_and_where(run, change, says):
    data = json.loads(to_json(run))
    change(data)
    with raises(FileError) as error:
        from_json(json.dumps(data))
    assert says in tell(error.value.reason)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"schema_version": NaN}', b"\xff\xfe", "[" * 100_000])
def test_what_is_no_run_is_refused(text):
    with raises(FileError):
        from_json(text)


def strict(text):
    """As a reader that takes nothing beside strict JSON."""
    return json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_written_and_only_a_time_is_refused(run, value):
    broken = replace(run.outcomes[0], first_call_s=value)
    text = to_json(replace(run, outcomes=(broken,)))
    assert strict(text)["results"][0]["first_call_s"] == str(value)
    with raises(FileError, match="first_call_s"):
        from_json(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_training_whose_loss_is_no_number_any_more_reads_back(trained, value):
    """It is among what float16 does; the run must not end because of it."""
    (outcome,) = trained.outcomes
    spoilt = replace(outcome.learning, losses=((50, 2.3), (100, value)), train_loss=value, test_accuracy=0.1)
    outcome = replace(outcome, learning=spoilt, check=Check(RIGHT, value, value))
    text = to_json(replace(trained, outcomes=(outcome,)))
    strict(text)
    (back,) = from_json(text).outcomes
    assert str(back.learning.losses) == str(spoilt.losses)
    assert back.learning.train_loss is None and back.check == Check(RIGHT, None, None)


figures = st.recursive(
    st.text(max_size=20)
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.builds(Quantity, st.floats(allow_nan=False), st.sampled_from(["s", "B", "%", ""])),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.builds(lambda one: because("held", one=one), inner),
    max_leaves=5,
)
REASONS = st.builds(lambda one, other: because("some", one=one, other=other), figures, figures)


@given(REASONS)
def test_any_reason_reads_back(why):
    run = sweep({16: {"cpu": 1e-3}})
    (measured,) = run.outcomes
    failure = Failure(Case("matvec", 16, "mps"), why)
    run = replace(run, outcomes=(replace(measured, reason=why, flags=(why, why), check=Check(RIGHT, 0.0, 0.1, why)),))
    run = run.with_outcomes(failure)
    assert from_json(to_json(run)) == run


@pytest.mark.parametrize("words", ["half \udc80 a character", "x" * (LONGEST_TEXT + 1), "\0", "é" * LONGEST_TEXT])
def test_words_that_no_file_may_hold_cost_the_run_nothing(run, words):
    failed = replace(run, outcomes=(*run.measurements, Failure(Case("matvec", 8192, "mps"), quoted(words))))
    text = to_json(failed)
    back = from_json(text.encode())
    assert back.measurements == run.measurements and tell(back.failures[0].error)[:5] == words[:5]
    assert from_json(to_json(back)) == back


def test_settings_of_any_kind_are_written(run):
    odd = {"folder": Path("/x"), "copied": {"cpu": math.inf}, "why": because("nothing"), "sizes": (16,), 3: {4}}
    back = from_json(to_json(replace(run, settings=run.settings | odd)))
    assert back.settings["folder"] == "/x" and back.settings["copied"] == {"cpu": "inf"}
    assert back.settings["why"] == {"kind": "nothing"} and back.settings["3"] == "{4}"


def test_a_file_of_version_1_opens_and_shows_its_sentences_as_they_are():
    text = VERSION_1.read_text(encoding="utf-8")
    kept = json.loads(text)
    assert kept["schema_version"] == 1
    run = from_json(text)
    sentence = "It became 1.08 times slower while it was measured (heat, or another program)."
    flags = [flag for outcome in run.outcomes for flag in outcome.flags]
    assert flags == [quoted(sentence)] * 2
    for outcome, entry in zip(run.outcomes, kept["results"], strict=True):
        assert tell(outcome.reason) == entry["reason"] and tell(outcome.check.reason) == entry["check"]["text"]
        assert (outcome.reason is None) == (entry["reason"] == "")
    with speaking("id"):
        assert tell(flags[0]) == sentence
    assert json.loads(to_json(run))["schema_version"] == SCHEMA_VERSION and from_json(to_json(run)) == run


def test_what_version_1_said_of_a_case_is_quoted_and_no_text_is_no_reason(run):
    data = json.loads(to_json(run)) | {"schema_version": 1}
    check = {"verdict": "reduced", "error": 0.1, "limit": 0.2, "text": "Reduced to TF32."}
    data["results"][0] |= {"reason": "", "flags": ["Too hot.", ""], "check": check}
    data["results"][1] |= {"reason": "Noisy.", "check": check | {"text": ""}}
    data["results"][-1]["error"] = ""
    back = from_json(json.dumps(data))
    first, second = back.outcomes[:2]
    assert (
        first.reason is None
        and first.flags == (quoted("Too hot."),)
        and first.check.reason == quoted("Reduced to TF32.")
    )
    assert second.reason == quoted("Noisy.") and second.check.reason is None
    assert tell(back.failures[0].error) == "" and from_json(to_json(back)) == back


def test_a_failure_and_a_doubt_say_why(run):
    for change in (
        lambda r: r[-1].update(error=None),
        lambda r: r[-1].pop("error"),
        lambda r: r[0].update(flags=[None]),
    ):
        data = json.loads(to_json(run))
        change(data["results"])
        with raises(FileError, match=r"results\[\d\]\.(error|flags)"):
            from_json(json.dumps(data))
