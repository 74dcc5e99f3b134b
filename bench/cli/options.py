"""What was typed at a terminal, as plans, devices and runs. What is wrong is said in one sentence, a UsageError or a PlanError."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from bench.cli.terminal import check_out
from bench.cli.usage import UsageError
from bench.measure.job import State
from bench.measure.plans import SweepPlan, TrainingPlan
from bench.measure.runner import Runner
from bench.measure.sizes import parse_batches, parse_sizes, parse_threads
from bench.records.budget import EFFORTS
from bench.records.formats import OFF_ON
from bench.records.run import Run
from bench.storage.reading import FileError, from_json
from bench.storage.store import StoreError, open_store
from bench.text.tell import tell
from bench.workloads.datasets import SOURCES


def sweep_plan(options: argparse.Namespace) -> Callable[[tuple[str, ...]], SweepPlan]:
    """Complains of whatever can be known before PyTorch is loaded; what is returned takes the devices."""
    if options.effort not in EFFORTS:
        raise UsageError(f"There is no effort {options.effort!r}; choose from {', '.join(EFFORTS)}.")
    sizes, grid = parse_sizes(options.sizes), grid_of(options)

    def make(devices: tuple[str, ...]) -> SweepPlan:
        return SweepPlan(options.op, sizes, devices, EFFORTS[options.effort], options.seed, **grid)

    make(("cpu",))
    check_out(options.out)
    return make


def training_plan(options: argparse.Namespace) -> Callable[[tuple[str, ...]], TrainingPlan]:
    names, batches = tuple(_listed(options.models)), parse_batches(options.batch)
    grid = grid_of(options) if hasattr(options, "dtypes") else {}

    def make(devices: tuple[str, ...]) -> TrainingPlan:
        return TrainingPlan(
            names,
            devices,
            options.epochs,
            batches,
            options.images,
            options.data,
            one_by_one=True,
            seed=options.seed,
            **grid,
        )

    make(("cpu",))
    if options.data not in SOURCES and not Path(options.data).expanduser().is_dir():
        raise UsageError(f"--data: there is no folder {options.data}; or choose from {', '.join(SOURCES)}.")
    check_out(options.out)
    return make


def grid_of(options: argparse.Namespace) -> dict[str, tuple]:
    """The fields of ``VariantGrid``."""
    if wrong := [word for word in _listed(options.compile) if word not in OFF_ON]:
        raise UsageError(f"--compile is off, on, or off,on for both, and {wrong[0]!r} is not.")
    return {
        "dtypes": tuple(_listed(options.dtypes)),
        "threads": parse_threads(options.threads),
        "layouts": tuple(_listed(options.layouts)),
        "compiled": tuple(word == OFF_ON[True] for word in _listed(options.compile)),
    }


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def run_named(name: str) -> Run:
    """From a file, or from the store by id or name."""
    try:
        path = Path(name).expanduser()
        if path.suffix == ".json" or path.is_file():
            return from_json(path.read_bytes())
        store = open_store()
        found = [head.id for head in store.heads() if name in (head.id, head.name)]
        if len(found) == 1:
            return store.load(found[0])
    except OSError as error:
        raise UsageError(f"{name} can't be read ({error.strerror}).") from error
    except (FileError, StoreError) as error:
        raise UsageError(f"{name}: {tell(error.reason)}") from error
    raise UsageError(f"{'Several runs have' if found else 'No file and no run in the store has'} the name {name!r}.")


def choose(text: str, runner: Runner) -> tuple[str, ...]:
    """The devices asked for, or all usable ones. UsageError with the reason if one is not usable."""
    runner.wake()
    found = {device.name: device for device in runner.join().devices}
    if runner.snapshot.state is State.BROKEN:
        raise UsageError(tell(runner.snapshot.error))
    if not text.strip():
        return tuple(device.name for device in runner.snapshot.usable)
    chosen = tuple(name.strip() for name in text.split(","))
    for name in chosen:
        if name not in found:
            raise UsageError(f"There is no device {name!r}; choose from {', '.join(found)}.")
        if not found[name].usable:
            raise UsageError(f"Device {name!r} can't be used. {tell(found[name].reason)}")
    return chosen
