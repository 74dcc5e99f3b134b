"""Trains networks and uses them for inference, on each variant from the same weights and batches.

Wall clock, device synchronised. An epoch is timed in blocks of batches; between two blocks the loss
is read and the page may draw, outside the clock. What the headline contains: taking the batch from
memory (loading), copying it to the device, forward, loss, backward and optimiser. What it does not:
warm-up, the reading of losses, the test. Where a step's time goes is measured apart, on a copy of
the network, because waiting after each phase would slow the headline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from bench.machine import energy
from bench.machine.environment import capture_environment
from bench.measure.faults import FaultHandler
from bench.measure.job import GrowingRun
from bench.measure.network_group import NetworkGroup
from bench.measure.plans import TrainingPlan
from bench.measure.progress import TrainingProgress
from bench.measure.trainer import initial_weights
from bench.measure.training_setup import Setup
from bench.records.measurement import Outcome
from bench.records.reason import because
from bench.records.run import Run
from bench.workloads.datasets import SOURCES, load
from bench.workloads.networks import NETWORKS

if TYPE_CHECKING:
    from bench.measure.job import Control


def train(plan: TrainingPlan, control: Control, before: Sequence[Outcome] = ()) -> None:
    """Run the plan, publishing the growing run and the curves. DataError if the images can't be had.

    ``before`` are outcomes of an earlier part of the same run, which the plan skips.
    """
    from bench.machine.devices import Device

    control.publish(stage=because("stage_loading"))
    images = load(plan.data, images=plan.images)
    control.check()
    devices = {name: Device(name) for name in plan.devices}
    hardware = {name: control.devices[name].hardware for name in plan.devices}
    meters = {name: energy.meter(name, hardware[name]) for name in plan.devices}
    joules = {  # plain values, as all settings are
        name: {"covers": meter.covers and meter.covers.plain(), "absent": meter.reason and meter.reason.plain()}
        for name, meter in meters.items()
    }
    settings = settings_of(plan, images.label) | {"energy": joules, "labels": images.labels}
    run = Run("training", capture_environment(hardware), settings, tuple(before))
    finish = GrowingRun(run, control).add
    progress, faults = TrainingProgress(plan, control), FaultHandler(devices, control)
    for name in plan.networks:
        for batch in plan.batches:
            weights = initial_weights(NETWORKS[name], plan.seed)
            setup = Setup(plan, NETWORKS[name], batch, images, devices, meters, control, progress, finish, weights)
            NetworkGroup(setup, faults).measure()
            control.publish(current=None, samples_s=())


def settings_of(plan: TrainingPlan, data: str) -> dict[str, object]:
    """The plan as plain values; of the images their label and kind, never the folder they lie in."""
    return asdict(plan) | {"data": data, "source": plan.data if plan.data in SOURCES else "folder"}
