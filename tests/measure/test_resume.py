"""A run that ended in the middle is gone on with, without what is done and what killed it."""

from dataclasses import replace

from fakes import Machine, Watcher
from told import raises

from bench.measure.discovery import find_devices
from bench.measure.plans import SweepPlan, TrainingPlan
from bench.measure.resume import plan_of, remainder
from bench.measure.sweep import measure
from bench.measure.training import train
from bench.records.budget import EFFORTS
from bench.records.case import Case
from bench.records.measurement import Failure
from bench.records.reason import quoted
from bench.records.refusal import PlanError
from bench.storage.reading import from_json
from bench.storage.writing import to_json
from bench.workloads.datasets import SYNTHETIC


def test_a_sweep_goes_on_without_the_case_that_killed_it(monkeypatch):
    machine = Machine({"cpu": lambda n, now: 1e-3, "mps": lambda n, now: 2e-3})
    devices = machine.install(monkeypatch)
    watcher = Watcher(devices)
    plan = SweepPlan("fake", (64, 65, 66), ("cpu", "mps"), EFFORTS["quick"], seed=3)
    measure(plan, watcher)
    whole = watcher.run
    killer = Failure(Case("fake", 65, "mps"), quoted("The program ended abruptly while this was measured."))
    before = from_json(to_json(replace(whole, outcomes=(*whole.outcomes[:2], killer))))
    assert plan_of(before) == plan
    rest = remainder(before, devices)
    assert rest.kind == "sweep"
    assert set(rest.planned) == {Case("fake", 65, "cpu"), Case("fake", 66, "cpu"), Case("fake", 66, "mps")}
    again = Watcher(devices)
    machine.visits.clear()
    rest.job(again)
    assert again.run.outcomes[:3] == before.outcomes
    assert {o.case for o in again.run.measurements} == set(plan.cases) - {killer.case}
    with raises(PlanError, match="Nothing of this run is left"):
        remainder(again.run, devices)


def test_a_training_goes_on_with_the_networks_it_had_not_come_to():
    found = {info.name: info for info in find_devices() if info.name == "cpu"}
    plan = TrainingPlan(("mlp", "convnet"), ("cpu",), batches=(50,), images=300, data=SYNTHETIC)
    watcher = Watcher(found)
    train(replace(plan, networks=("mlp",)), watcher)
    begun = replace(watcher.run, settings=watcher.run.settings | {"networks": plan.networks})
    rest = remainder(from_json(to_json(begun)), found)
    assert {case.workload for case in rest.planned} == {"convnet/train", "convnet/infer"}
    again = Watcher(found)
    rest.job(again)
    assert [o.case.workload.partition("/")[0] for o in again.run.measurements] == ["mlp"] * 2 + ["convnet"] * 2


def test_of_a_training_that_died_in_its_inference_only_the_training_is_made_again():
    found = {info.name: info for info in find_devices() if info.name == "cpu"}
    plan = TrainingPlan(("mlp",), ("cpu",), batches=(50,), images=300, data=SYNTHETIC, one_by_one=True)
    watcher = Watcher(found)
    train(plan, watcher)
    infer, single, _ = watcher.run.outcomes
    begun = replace(watcher.run, outcomes=(Failure(infer.case, quoted("the program ended")), single))
    rest = remainder(from_json(to_json(begun)), found)
    assert [case.workload for case in rest.planned] == ["mlp/train"]
    again = Watcher(found)
    rest.job(again)
    assert [o.case for o in again.run.outcomes] == [infer.case, single.case, rest.planned[0]]


def test_what_cannot_be_gone_on_with_says_why(monkeypatch):
    machine = Machine({"cpu": lambda n, now: 1e-3})
    watcher = Watcher(machine.install(monkeypatch))
    measure(SweepPlan("fake", (64,), ("cpu",), EFFORTS["quick"]), watcher)
    run = replace(watcher.run, outcomes=())
    with raises(PlanError, match="'cpu' can't be used now"):
        remainder(run, {})
    with raises(PlanError, match="kind of run"):
        remainder(replace(run, kind="replay"), {})
    with raises(PlanError, match="settings"):
        remainder(replace(run, settings={"operation": "fake"}), {})
    with raises(PlanError, match="folder"):
        remainder(replace(run, kind="training", settings={"source": "folder"}), {})
