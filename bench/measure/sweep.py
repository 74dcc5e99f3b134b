"""Measures one operation over sizes: the devices of a size alternate over rounds (``size_group.py``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from bench.machine.ceilings import ceiling
from bench.machine.environment import capture_environment
from bench.measure.faults import FaultHandler
from bench.measure.forecast import group_seconds, sweep_forecast
from bench.measure.job import GrowingRun
from bench.measure.plans import SweepPlan
from bench.measure.progress import SweepProgress
from bench.measure.size_group import SizeGroup, SweepSetup
from bench.records.case import kind_of
from bench.records.measurement import Failure, Outcome
from bench.records.reason import because
from bench.records.run import Run

if TYPE_CHECKING:
    from bench.measure.job import Control
    from bench.records.device import DeviceInfo


def measure(plan: SweepPlan, control: Control, before: Sequence[Outcome] = ()) -> None:
    """Run the plan, publishing the growing run. Sizes that would not fit end as failures.

    ``before`` are outcomes of an earlier part of the same run, which the plan skips.
    """
    from bench.machine.devices import Device

    devices = {name: Device(name) for name in plan.devices}
    known = control.devices | {name: control.devices[kind_of(name)] for name in plan.devices}
    left_out = sweep_forecast(plan, known).left_out
    run = _begun(plan, known, before)
    ceilings = {name: ceiling(run.environment, name, known[name].bytes_per_s) for name in plan.devices}
    sizes = list(filter(plan.group, plan.sizes))  # others are in ``before``
    progress = SweepProgress({size: group_seconds(plan, size, known) for size in sizes if size not in left_out})
    faults, finish = FaultHandler(devices, control), GrowingRun(run, control).add
    setup = SweepSetup(plan, devices, ceilings, control, progress, faults, finish)
    for size in sizes:
        if size in left_out:
            for case in plan.group(size):
                finish(Failure(case, because("does_not_fit", reason=left_out[size])))
        else:
            SizeGroup(setup, size).measure()
            progress.finish(size)
        control.publish(current=None, samples_s=())


def _begun(plan: SweepPlan, known: Mapping[str, DeviceInfo], before: Sequence[Outcome]) -> Run:
    """The run with nothing new in it; of kind "aa" where a device is measured against itself."""
    kind = "sweep" if all(name == kind_of(name) for name in plan.devices) else "aa"
    environment = capture_environment({name: known[name].hardware for name in plan.devices})
    copied = {name: known[name].bytes_per_s for name in plan.devices}
    return Run(kind, environment, asdict(plan) | {"copy_bytes_per_s": copied}, tuple(before))
