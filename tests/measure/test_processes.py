"""The same sweep in several processes: what lies between them is told apart from what lies within."""

import json
from dataclasses import replace

import pytest
from fakes import Watcher, measurement, sweep
from told import raises

from bench.analysis.spread import spreads, summary
from bench.cli.main import main
from bench.cli.options import sweep_plan
from bench.cli.parser import make_parser
from bench.measure import processes
from bench.measure.job import Stopped
from bench.measure.plans import SweepPlan
from bench.measure.processes import FreshError, arguments_of, in_new_processes, medians_of, run_fresh
from bench.records.budget import EFFORTS
from bench.records.measurement import WRONG
from bench.storage.store import open_store
from bench.storage.writing import to_json
from bench.text.tell import tell


def sentence(found):
    return " ".join(map(tell, summary(found, str)))


def read(points):
    return medians_of(json.loads(to_json(sweep(points))))


def test_the_spread_between_processes_is_that_of_their_medians():
    runs = [read({64: {"cpu": 1e-3 * factor}, 128: {"cpu": 2e-3}}) for factor in (1.0, 2.5, 1.1)]
    first, second = spreads(runs)
    assert first.between == pytest.approx(2.5, rel=1e-3) and second.between == pytest.approx(1)
    assert 1 < first.within < 1.02
    text = sentence([first, second])
    assert "at most 2.50 times, at matvec · 64 · cpu" in text and "One process is one sample" in text
    assert "One process" not in sentence([second])


def test_a_case_that_one_process_got_wrong_is_left_out():
    wrong = replace(measurement("cpu", 64, 1e-3), status=WRONG)
    right = sweep({64: {"cpu": 1e-3}})
    both = (right, replace(right, outcomes=(wrong,)))
    assert spreads([medians_of(json.loads(to_json(run))) for run in both]) == []
    assert "No case" in sentence([])


def test_each_process_is_a_new_one_and_a_run_of_its_own(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_HOME", str(tmp_path / "home"))
    code = main(["fresh", "--times", "2", "--", "--sizes", "64", "--devices", "cpu", "--effort", "quick"])
    out = capsys.readouterr().out
    assert code == 0 and "matvec · 64 · cpu" in out and "Between 2 processes" in out
    assert len(open_store().heads()) == 2


def test_wrong_options_are_told_before_anything_is_started(capsys):
    assert main(["fresh", "--times", "1", "--", "--sizes", "64"]) == 2
    assert main(["fresh", "--", "--sizes", "sixty"]) == 2
    assert "from 2 to 100" in (said := capsys.readouterr().err) and "sixty" in said


def test_a_process_without_a_run_ends_as_a_sentence():
    with raises(FreshError, match=r"Process 1 gave no run: .*'nowhere'"):
        run_fresh(["--devices", "nowhere", "--sizes", "64"], 2, lambda number: None)


def test_the_options_of_a_plan_make_the_same_plan_again():
    plan = SweepPlan("conv2d", (64, 128), ("cpu",), EFFORTS["quick"], 3, dtypes=("float32", "autocast-bfloat16"),
                     threads=(0, 2), layouts=("contiguous", "channels_last"), compiled=(False, True))  # fmt: skip
    options = make_parser().parse_args(["sweep", *arguments_of(plan)])
    assert sweep_plan(options)(("cpu",)) == plan


def test_as_a_job_of_the_page_the_spreads_are_published_and_stop_is_heard(monkeypatch):
    watcher, run = Watcher({}), to_json(sweep({64: {"cpu": 1e-3}}))
    with monkeypatch.context() as patch:  # the command's test above starts real ones
        patch.setattr(processes, "run_fresh", lambda *arguments: [medians_of(json.loads(run))] * 2)
        in_new_processes(SweepPlan("matvec", (64,), ("cpu",), EFFORTS["quick"]), 2, watcher)
    (spread,) = watcher.published[-1]["findings"]
    assert len(spread.medians_s) == 2 and spread.case.size == 64

    def stop():
        raise Stopped

    with pytest.raises(Stopped):
        run_fresh(["--sizes", "64"], 2, lambda number: None, stop)
