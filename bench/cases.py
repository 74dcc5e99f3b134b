"""What is measured, how hard it is tried, and in which order. Plans are checked here, in sentences."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bench.registry import ARTICLE_SIZES, FLOAT32, NETWORKS, OPERATIONS, WIDTHS

SMALLEST_SIZE, LARGEST_SIZE = 16, 16_384
MOST_SIZES = 200
MOST_EPOCHS = 20
MOST_THREADS = 1024
LARGEST_BATCH = 65_535  # MPS has computed wrong rows beyond it (pytorch#96225, #189495)


class PlanError(ValueError):
    """A plan that cannot be measured: one sentence that says what to do."""


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """The identity of a measurement: this workload, at this size, on this device.

    ``workload`` is "matvec", "mlp/train" or "mlp/infer"; ``size`` is m for an operation and the
    batch size for a network.
    """

    workload: str
    size: int
    device: str
    dtype: str = FLOAT32
    threads: int = 0  # of the CPU; 0 is PyTorch's own choice

    def __str__(self) -> str:
        return " · ".join([self.workload, str(self.size), self.device, *self.lane.settings])

    @property
    def lane(self) -> Lane:
        return Lane(self.device, self.dtype, self.threads)


class Lane(NamedTuple):
    """What a line of a chart stands for: a device, and how it computes."""

    device: str
    dtype: str = FLOAT32
    threads: int = 0

    @property
    def settings(self) -> list[str]:
        """In words, where they are not the usual ones."""
        dtype = [self.dtype] if self.dtype != FLOAT32 else []
        return [*dtype, *([f"{self.threads} thread{'s' if self.threads > 1 else ''}"] if self.threads else [])]


AGAIN = "#2"


def again(device: str) -> str:
    """The same device once more, beside itself: "mps#2"."""
    return device + AGAIN


def kind_of(device: str) -> str:
    """The device that PyTorch knows: "mps" for "mps#2"."""
    return device.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to try and how precise to get. Times in seconds."""

    name: str
    target: float  # wanted half-width of the median's 95 % interval, relative to the median
    min_rounds: int  # devices alternate over rounds
    max_rounds: int
    round_s: float  # per device and round
    warmup_s: float  # at most; it ends when the device is steady
    min_block_s: float  # a block lasts at least this long
    limit_s: float  # per case; no new round begins after it
    min_samples: int = 10


EFFORTS = {
    "quick": Budget("quick", 0.05, 6, 12, 0.015, 0.2, 1e-3, 10.0),
    "standard": Budget("standard", 0.02, 8, 40, 0.02, 0.5, 2e-3, 30.0),
    "thorough": Budget("thorough", 0.01, 16, 100, 0.06, 1.0, 4e-3, 120.0),
}


SUSTAINED = "sustained"


def sustained(minutes: float) -> Budget:
    """One case without a pause for so long, in rounds of a second: for heat and power limits, not for precision."""
    if not 0.1 <= minutes <= 60:
        raise PlanError(f"The minutes must be from 0.1 to 60, and {minutes:g} are not.")
    seconds = round(60 * minutes)
    return Budget(SUSTAINED, 1.0, seconds, seconds, 1.0, 0.0, 0.02, 10.0 * seconds)


@dataclass(frozen=True)
class SweepPlan:
    """One operation over sizes and devices. Sizes ascend; the devices of one size are measured together."""

    operation: str
    sizes: tuple[int, ...]
    devices: tuple[str, ...]
    budget: Budget = EFFORTS["standard"]
    seed: int = 0
    skip: tuple[Case, ...] = ()  # measured before, or not to be tried again
    dtypes: tuple[str, ...] = (FLOAT32,)
    threads: tuple[int, ...] = (0,)  # numbers of CPU threads; 0 is PyTorch's own choice

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise PlanError(f"There is no operation {self.operation!r}; choose from {', '.join(OPERATIONS)}.")
        check_sizes(self.sizes)
        _check_devices(self.devices)
        for name, values, allowed in (
            ("number format", self.dtypes, WIDTHS),
            ("number of threads", self.threads, None),
        ):
            if not values or len(set(values)) < len(values):
                raise PlanError(f"Choose each {name} once, and at least one.")
            if allowed and (wrong := set(values) - set(allowed)):
                raise PlanError(f"There is no {name} {min(wrong)!r}; choose from {', '.join(allowed)}.")
        for number in self.threads:
            check_between("The number of threads", number, 0, MOST_THREADS)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Every device in every way it is measured; threads are the CPU's alone."""
        return tuple(
            Lane(device, dtype, threads)
            for device in self.devices
            for dtype in self.dtypes
            for threads in (self.threads if kind_of(device) == "cpu" else (0,))
        )

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(case for size in self.sizes for case in self.group(size))

    def group(self, size: int) -> tuple[Case, ...]:
        """The cases of one size, one a lane."""
        cases = (Case(self.operation, size, *lane) for lane in self.lanes)
        return tuple(case for case in cases if case not in self.skip)


@dataclass(frozen=True)
class TrainingPlan:
    """Training and inference of networks on images, on each device from the same weights and batches."""

    networks: tuple[str, ...]
    devices: tuple[str, ...]
    epochs: int = 1
    batch: int = 128
    images: int = 60_000
    data: str = "fashion-mnist"  # "fashion-mnist", "synthetic" or a folder of IDX files
    learning_rate: float = 3e-4
    seed: int = 0
    skip: tuple[Case, ...] = ()  # measured before, or not to be tried again

    def __post_init__(self) -> None:
        if not self.networks:
            raise PlanError("Choose at least one model.")
        for name in self.networks:
            if name not in NETWORKS:
                raise PlanError(f"There is no model {name!r}; choose from {', '.join(NETWORKS)}.")
        _check_devices(self.devices)
        check_between("Epochs", self.epochs, 1, MOST_EPOCHS)
        check_between("Images", self.images, 1, 1_000_000)
        check_between("The batch size", self.batch, 1, LARGEST_BATCH)
        if self.batch > self.images:
            raise PlanError(
                f"A batch of {self.batch} needs at least as many images, and there are {self.images}: "
                "use more images or a smaller batch."
            )
        for name in self.networks:
            _check_last_batch(name, self.batch, self.images)

    @property
    def steps_per_epoch(self) -> int:
        return -(-self.images // self.batch)

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(
            self.case(name, mode, device)
            for name in self.networks
            for mode in ("train", "infer")
            for device in self.devices_for(name)
        )

    def case(self, network: str, mode: str, device: str) -> Case:
        return Case(f"{network}/{mode}", self.batch, device)

    def devices_for(self, network: str) -> tuple[str, ...]:
        """Those on which this network is trained."""
        return tuple(device for device in self.devices if self.case(network, "train", device) not in self.skip)


@dataclass(frozen=True)
class ReplayPlan:
    """The article's two experiments with the article's clocks: a sweep of matrix × vector, and a training."""

    sweep: SweepPlan
    training: TrainingPlan

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.sweep.cases, *self.training.cases)


def spaced_sizes(first: int, last: int, how_many: int, spacing: str) -> tuple[int, ...]:
    """``how_many`` whole sizes from ``first`` to ``last``, "geometric" or "even"; fewer where they coincide."""
    check_sizes(sorted({first, last}))
    check_between("The number of sizes", how_many, 1, MOST_SIZES)
    space = np.geomspace if spacing == "geometric" else np.linspace
    return tuple(int(n) for n in np.unique(np.rint(space(first, last, how_many)).astype(int)))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Sizes from a command line: "article" or "128,256,512". PlanError where that is not what it is."""
    if text.strip() == "article":
        return ARTICLE_SIZES
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    wrong = next((part for part in parts if not (part.isascii() and part.isdigit())), None)
    if wrong is not None:
        raise PlanError(f'Sizes are whole numbers such as 128,256,512, or the word "article"; {wrong!r} is not.')
    sizes = tuple(int(part[:12]) for part in parts)
    check_sizes(sizes)
    return sizes


def parse_threads(text: str) -> tuple[int, ...]:
    """Numbers of threads such as "1, 4, 8"; nothing, or "default", is PyTorch's own choice. PlanError if it is not."""
    parts = [part.strip() for part in text.split(",") if part.strip()] or ["default"]
    wrong = next((part for part in parts if part != "default" and not (part.isascii() and part.isdigit())), None)
    if wrong is not None:
        raise PlanError(f'Numbers of threads are whole numbers such as 1, 4, 8, or "default"; {wrong!r} is not.')
    numbers = tuple(0 if part == "default" else int(part[:6]) for part in parts)
    for number in numbers:
        check_between("The number of threads", number, 0, MOST_THREADS)
    return numbers


def check_sizes(sizes: Sequence[int]) -> None:
    """PlanError unless there are some, in range and in ascending order."""
    if not sizes:
        raise PlanError("Choose at least one size.")
    if len(sizes) > MOST_SIZES:
        raise PlanError(f"{len(sizes)} sizes are too many for one run: choose at most {MOST_SIZES}.")
    for size in sizes:
        check_between("A size", size, SMALLEST_SIZE, LARGEST_SIZE)
    for before, after in itertools.pairwise(sizes):
        if after <= before:
            raise PlanError(f"Sizes must ascend, each once, and {after} comes after {before}: put them in order.")


def _check_devices(devices: Iterable[str]) -> None:
    if not devices:
        raise PlanError("Choose at least one device.")
    if len(set(devices)) < len(tuple(devices)):
        raise PlanError("Name each device once.")


def _check_last_batch(network: str, batch: int, images: int) -> None:
    """Batch normalisation needs at least two images in every batch, the last one too."""
    smallest, last = NETWORKS[network].smallest_batch, images % batch or batch
    if last < smallest:
        title = NETWORKS[network].title
        better = f"use {images - last} or {images + 1} images" if batch > 1 else "use batches of at least 2"
        raise PlanError(
            f"{images} images in batches of {batch} leave a last batch of {last}, on which {title} cannot "
            f"train because batch normalisation needs at least {smallest}: {better}."
        )


def check_between(what: str, value: int, low: int, high: int) -> None:
    """PlanError unless ``value`` is a whole number in that range, both ends included."""
    if not isinstance(value, int) or not low <= value <= high:
        raise PlanError(f"{what} must be from {low} to {high}, and {value} is not.")
