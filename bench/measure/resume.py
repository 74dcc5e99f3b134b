"""Going on with a run that ended in the middle: the same plan without what is done, or must not be tried again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TypeVar

from bench.measure.job import Job
from bench.measure.plans import SweepPlan, TrainingPlan
from bench.measure.sweep import measure
from bench.measure.training import train
from bench.records.case import Case, kind_of
from bench.records.refusal import PlanError
from bench.records.run import Run
from bench.workloads.datasets import SOURCES

Plan = TypeVar("Plan", SweepPlan, TrainingPlan)


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left of a run, ready to be started."""

    job: Job
    kind: str  # "sweep", "aa" or "training"
    planned: tuple[Case, ...]


def remainder(run: Run, usable: Mapping[str, object]) -> Remainder:
    """What of the run has no outcome yet, on the ``usable`` devices by name.

    PlanError if nothing is left, a device is not there, or the run can't be gone on with.
    """
    plan = plan_of(run)
    skip = tuple(outcome.case for outcome in run.outcomes)
    plan = replace(plan, skip=skip)
    missing = sorted({kind_of(case.device) for case in plan.cases} - set(usable))
    if missing:
        raise PlanError("device_gone", device=repr(missing[0]))
    if not plan.cases:
        raise PlanError("nothing_left")
    before = run.outcomes
    job = (
        partial(train, plan, before=before) if isinstance(plan, TrainingPlan) else partial(measure, plan, before=before)
    )
    return Remainder(job, run.kind, plan.cases)


def plan_of(run: Run) -> SweepPlan | TrainingPlan:
    """The plan that the run was made by, from its settings. PlanError if there is none in them."""
    if run.kind not in ("sweep", "aa", "training"):
        raise PlanError("kind_not_resumable")
    settings = dict(run.settings)
    if run.kind == "training":
        settings["data"] = settings.get("source")
        if "batch" in settings:  # of a run before there could be several
            settings["batches"] = [settings["batch"]]
        if settings["data"] not in SOURCES:
            raise PlanError("images_from_folder")
        return _read(TrainingPlan, settings)
    return _read(SweepPlan, settings)


def _read(kind: type[Plan], settings: dict[str, object]) -> Plan:
    """Plain values as a plan of this kind, whatever a file held; pydantic is imported only by who goes on."""
    from pydantic import TypeAdapter, ValidationError

    known = {field.name for field in fields(kind)}
    try:
        return TypeAdapter(kind).validate_python({key: value for key, value in settings.items() if key in known})
    except ValidationError as error:
        raise PlanError("settings_no_plan") from error
