"""A case for minutes: does it keep its speed, and from when on not?"""

import re

import pytest
from fakes import Machine, Watcher
from told import raises

from bench.cli.main import main
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import sustained
from bench.records.refusal import PlanError
from bench.storage.recorder import summary
from bench.text.tell import tell


def held(monkeypatch, seconds):
    machine = Machine({"cpu": seconds})
    watcher = Watcher(machine.install(monkeypatch))
    measure(SweepPlan("fake", (64,), ("cpu",), sustained(1.0)), watcher)
    return watcher.run


def test_a_case_is_measured_for_as_long_as_it_was_told_without_a_pause(monkeypatch):
    run = held(monkeypatch, lambda n, now: 1e-3)
    (m,) = run.measurements
    assert len(m.rounds) == 60 and m.status == "converged"
    assert sum(m.samples_s) * m.calls == pytest.approx(60, rel=0.1)
    assert tell(summary(run)) == "64 on CPU kept its speed for 1 min: 1.00 ms a call, no throttling."


@pytest.mark.parametrize("factor", [1.2, 1.5, 3.0])
def test_throttling_is_found_and_named_with_its_size_and_time(monkeypatch, factor):
    run = held(monkeypatch, lambda n, now: 1e-3 * (factor if now > 20 else 1))
    text = tell(summary(run))
    assert "throttles" in text and f"{factor:.2f} times as slow" in text
    after = int(re.search(r"after (\d+) s", text)[1])
    assert 17 <= after <= 21


def test_a_device_that_speeds_up_says_so(monkeypatch):
    run = held(monkeypatch, lambda n, now: 2e-3 if now < 10 else 1e-3)
    assert "2.00 times as fast within" in tell(summary(run))


@pytest.mark.parametrize("minutes", [0, -1, 61, float("nan")])
def test_a_senseless_time_is_refused(minutes):
    with raises(PlanError, match=r"from 0\.1 to 60"):
        sustained(minutes)


def test_the_command_measures_and_tells(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_HOME", str(tmp_path))
    assert main(["sustain", "--size", "100", "--minutes", "0.1", "--device", "cpu"]) == 0
    assert "100 on CPU" in capsys.readouterr().out
    assert main(["sustain", "--size", "5", "--device", "cpu"]) == 2
