"""Two runs side by side: what is faster, what is the same, what can't be said, and what else differs."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from fakes import ENVIRONMENT, measurement, sweep

from bench import stats
from bench.analysis.comparison import EQUAL, FASTER, SLOWER, UNDECIDED, compare, judge, slower_than, summary
from bench.analysis.differences import differences
from bench.cli.main import main
from bench.records.case import Case
from bench.records.measurement import WRONG
from bench.storage.store import open_store
from bench.storage.writing import to_json
from bench.text.comparison import differences as told_differences
from bench.text.tell import tell, told

POINTS = {n: {"cpu": 1e-6 * n, "mps": 1e-4} for n in (64, 128, 256)}


def faster(points, factor):
    return {n: {d: s / factor for d, s in row.items()} for n, row in points.items()}


def test_a_run_beside_itself_is_the_same():
    run = sweep(POINTS)
    found = compare(run, run)
    assert len(found.pairs) == 6 and {pair.verdict for pair in found.pairs} == {EQUAL}
    assert found.overall.value == pytest.approx(1) and found.verdict == EQUAL
    assert not found.differences and "equally fast overall" in tell(summary(found, "A", "B"))


@pytest.mark.parametrize(("factor", "verdict"), [(1.5, FASTER), (1 / 1.5, SLOWER)])
def test_a_faster_run_is_called_faster_and_a_slower_one_slower(factor, verdict):
    found = compare(sweep(POINTS), sweep(faster(POINTS, factor)))
    assert {pair.verdict for pair in found.pairs} == {verdict} == {found.verdict}
    for pair in found.pairs:
        assert pair.speedup.low <= factor <= pair.speedup.high and pair.speedup.value == pytest.approx(factor)
    assert len(slower_than(found, 1.1)) == (6 if verdict == SLOWER else 0)
    assert not slower_than(found, 1.6)


def test_what_is_wrong_or_missing_is_never_compared():
    first = sweep(POINTS)
    wrong = replace(measurement("mps", 512, 1e-9), status=WRONG)
    right = measurement("mps", 512, 1e-4)
    found = compare(first.with_outcomes(right), sweep({64: POINTS[64]}).with_outcomes(wrong))
    verdicts = {pair.case.size: pair.verdict for pair in found.pairs if pair.case.device == "mps"}
    assert verdicts == {64: EQUAL, 512: UNDECIDED}
    assert len(found.only_first) == 4 and not found.only_second
    nothing = compare(sweep({64: {"cpu": 1}}), sweep({65: {"cpu": 1}}))
    assert nothing.overall is None and "no case in common" in tell(summary(nothing, "A", "B"))


def test_the_interval_of_two_unpaired_series_holds_the_truth_in_95_of_100():
    """Eight rounds of ten, whole rounds 2 % off as well as samples: 1 000 pairs of truly equal devices."""
    rng, excluded = np.random.default_rng(3), 0

    def series():
        return [np.exp(rng.normal(0, 0.02) + rng.normal(0, 0.02, 10)) for _ in range(8)]

    for _ in range(1000):
        found = stats.unpaired_ratio(series(), series())
        excluded += not found.low <= 1 <= found.high
    assert excluded <= 65


def test_too_few_samples_make_no_ratio():
    assert stats.unpaired_ratio([[1.0, 1.1]], [[1.0] * 80]) is None
    fast, slow = ([s + 0.01 * (k % 5) for k in range(80)] for s in (1.0, 2.0))
    one_round = stats.unpaired_ratio([fast], [slow])
    assert one_round.value == pytest.approx(0.5, rel=0.02)


def test_the_overall_figure_is_the_geometric_mean():
    first, second = sweep({64: {"cpu": 1e-3}, 128: {"cpu": 1e-3}}), sweep({64: {"cpu": 5e-4}, 128: {"cpu": 2e-3}})
    found = compare(first, second)
    assert found.overall.value == pytest.approx(1) and found.overall.low <= 1 <= found.overall.high
    assert judge(None) == UNDECIDED and math.isfinite(found.overall.low)


def test_what_may_explain_a_difference_is_named_and_what_changes_by_itself_is_not():
    other = replace(
        ENVIRONMENT,
        captured_at="2027-01-01T00:00:00+00:00",
        load=9.0,
        memory_bytes=ENVIRONMENT.memory_bytes + 2**20,
        torch="2.15.0",
        threads=4,
        low_power="on",
        devices={"cpu": "Apple M1 Pro", "mps": "Apple M9"},
        variables={"OMP_NUM_THREADS": "4"},
    )
    assert differences(ENVIRONMENT, ENVIRONMENT) == []
    found = compare(sweep({}), replace(sweep({}), environment=other))
    assert told_differences(found) == [
        ("PyTorch", "2.9.0", "2.15.0"),
        ("CPU threads", "8", "4"),
        ("MPS hardware", "Apple M1 Pro", "Apple M9"),
        ("OMP_NUM_THREADS", "not set", "4"),
    ]
    (found,) = differences(ENVIRONMENT, replace(ENVIRONMENT, memory_bytes=2**35))
    assert (found.what, told(found.first), told(found.second)) == ("memory", "16 GiB", "32 GiB")


@pytest.fixture
def files(tmp_path):
    slow = sweep(faster(POINTS, 1 / 1.3), environment=replace(ENVIRONMENT, torch="2.15.0"))
    for name, run in (("a", sweep(POINTS)), ("b", slow)):
        (tmp_path / f"{name}.json").write_text(to_json(run))
    return [str(tmp_path / "a.json"), str(tmp_path / "b.json")]


def test_the_command_exits_with_1_on_a_regression_that_the_interval_supports(files, capsys):
    assert main(["compare", *files]) == 0
    out = capsys.readouterr().out
    assert "PyTorch: 2.9.0 | 2.15.0" in out and "slower" in out and "matvec · 64 · cpu" in out
    assert main(["compare", *files, "--fail-slower", "1.1"]) == 1
    assert main(["compare", *files, "--fail-slower", "1.4"]) == 0
    assert main(["compare", *reversed(files), "--fail-slower", "1.1"]) == 0


def test_the_command_says_what_it_cannot_read(files, tmp_path, capsys, monkeypatch):
    (tmp_path / "c.json").write_text(json.dumps({"schema_version": 7}))
    monkeypatch.setenv("BENCH_HOME", str(tmp_path / "home"))
    for second, says in (
        ("nowhere.json", "can't be read"),
        (str(tmp_path / "c.json"), "newer"),
        ("unknown", "No file"),
    ):
        assert main(["compare", files[0], second]) == 2
        assert says in capsys.readouterr().err
    assert main(["compare", *files, "--fail-slower", "0.5"]) == 2


def test_runs_of_the_store_are_compared_by_name(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("BENCH_HOME", str(tmp_path / "home"))
    run_id = open_store().add_file(sweep(POINTS), "before")
    assert main(["compare", "before", files[1]]) == 0 and main(["compare", run_id, "before"]) == 0
    assert "equally fast" in capsys.readouterr().out
    assert Case("matvec", 64, "cpu") in [o.case for o in open_store().load(run_id).outcomes]
