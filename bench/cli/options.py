"""What was typed at a terminal, as plans, devices, runs and files.

What is wrong is told in one sentence: a UsageError, or a PlanError where the plan itself can't be.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from bench.cli.usage import UsageError
from bench.measure.job import State
from bench.measure.plans import SweepPlan, TrainingPlan
from bench.measure.runner import Runner
from bench.measure.sizes import parse_batches, parse_sizes, parse_threads
from bench.records.budget import EFFORTS
from bench.records.formats import OFF_ON
from bench.records.run import Run
from bench.storage.database import StoreError
from bench.storage.reading import FileError, from_json
from bench.storage.store import open_store
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
    """As ``sweep_plan``."""
    names, batches = tuple(_listed(options.models)), parse_batches(options.batch)
    grid = grid_of(options) if hasattr(options, "dtypes") else Grid()

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


class Grid(TypedDict, total=False):
    """The fields of ``VariantGrid``."""

    dtypes: tuple[str, ...]
    threads: tuple[int, ...]
    layouts: tuple[str, ...]
    compiled: tuple[bool, ...]


def grid_of(options: argparse.Namespace) -> Grid:
    """In which ways to compute."""
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
    snapshot = runner.join()
    if snapshot.state is State.BROKEN:
        raise UsageError(tell(snapshot.error))
    if not text.strip():
        return tuple(device.name for device in snapshot.usable)
    found = {device.name: device for device in snapshot.devices}
    chosen = tuple(name.strip() for name in text.split(","))
    for name in chosen:
        if name not in found:
            raise UsageError(f"There is no device {name!r}; choose from {', '.join(found)}.")
        if not found[name].usable:
            raise UsageError(f"Device {name!r} can't be used. {tell(found[name].reason)}")
    return chosen


def check_out(out: Path | None) -> None:
    """Before measuring for minutes: can the file be written, and is its kind known?"""
    if out is None:
        return
    if out.suffix not in (".json", ".csv"):
        raise UsageError(f"--out must end in .json or .csv, and {out.name} does not.")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise UsageError(f"--out: there is no folder {out.absolute().parent} to write {out.name} into.")
    try:
        with out.open("a"):
            pass
    except OSError as error:
        raise UsageError(f"--out: {out} cannot be written ({error.strerror}).") from error
    if out.stat().st_size == 0:
        out.unlink()  # only tried
