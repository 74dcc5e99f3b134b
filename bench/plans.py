"""What is to be measured: the lanes, sizes and cases of a plan. Plans are checked here, in sentences."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.cases import EFFORTS, MOST_THREADS, Budget, Case, Lane, PlanError, check_between, kind_of
from bench.registry import (
    ARTICLE_SIZES,
    CONTIGUOUS,
    FLOAT32,
    LAYOUTS,
    NETWORKS,
    OPERATIONS,
    WIDTHS,
)
from bench.words import say

SMALLEST_SIZE, LARGEST_SIZE = 16, 16_384
MOST_SIZES = 200
MOST_EPOCHS = 20
LARGEST_BATCH = 65_535  # MPS has computed wrong rows beyond it (pytorch#96225, #189495)


@dataclass(frozen=True, kw_only=True)
class Ways:
    """The ways in which each device computes: every combination is a lane of its own."""

    dtypes: tuple[str, ...] = (FLOAT32,)
    threads: tuple[int, ...] = (0,)  # numbers of CPU threads; 0 is PyTorch's own choice
    layouts: tuple[str, ...] = (CONTIGUOUS,)
    compiled: tuple[bool, ...] = (False,)

    def check_ways(self) -> None:
        """PlanError, one sentence, if a choice is empty, double or unknown."""
        for name, values, allowed in (
            (say("number format"), self.dtypes, tuple(WIDTHS)),
            (say("number of threads"), self.threads, None),
            (say("memory layout"), self.layouts, LAYOUTS),
            (say("way of calling"), self.compiled, (False, True)),
        ):
            if not values or len(set(values)) < len(values):
                raise PlanError(say("Choose each {name} once, and at least one.", name=name))
            if allowed and (wrong := [value for value in values if value not in allowed]):
                raise PlanError(
                    say(
                        "There is no {name} {wrong}; choose from {allowed}.",
                        name=name,
                        wrong=repr(wrong[0]),
                        allowed=", ".join(map(str, allowed)),
                    )
                )
        for number in self.threads:
            check_between(say("The number of threads"), number, 0, MOST_THREADS)

    def lanes_on(self, devices: Iterable[str], images: bool) -> tuple[Lane, ...]:
        """Every device in every way: threads are the CPU's alone, layouts those of what has ``images``."""
        return tuple(
            Lane(device, dtype, threads, layout, compiled)
            for device in devices
            for dtype in self.dtypes
            for threads in (self.threads if kind_of(device) == "cpu" else (0,))
            for layout in (self.layouts if images else (CONTIGUOUS,))
            for compiled in self.compiled
        )


@dataclass(frozen=True)
class SweepPlan(Ways):
    """One operation over sizes and devices. Sizes ascend; the lanes of one size are measured together."""

    operation: str
    sizes: tuple[int, ...]
    devices: tuple[str, ...]
    budget: Budget = EFFORTS["standard"]
    seed: int = 0
    skip: tuple[Case, ...] = ()  # measured before, or not to be tried again

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise PlanError(
                say(
                    "There is no operation {operation}; choose from {all}.",
                    operation=repr(self.operation),
                    all=", ".join(OPERATIONS),
                )
            )
        check_sizes(self.sizes)
        _check_devices(self.devices)
        self.check_ways()

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return self.lanes_on(self.devices, OPERATIONS[self.operation].images)

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(case for size in self.sizes for case in self.group(size))

    def group(self, size: int) -> tuple[Case, ...]:
        """The cases of one size, one a lane."""
        cases = (Case(self.operation, size, *lane) for lane in self.lanes)
        return tuple(case for case in cases if case not in self.skip)


@dataclass(frozen=True)
class TrainingPlan(Ways):
    """Training and inference of networks on images, on each lane from the same weights and batches."""

    networks: tuple[str, ...]
    devices: tuple[str, ...]
    epochs: int = 1
    batches: tuple[int, ...] = (128,)  # images a step; training and inference are measured at each
    images: int = 60_000
    data: str = "fashion-mnist"  # "fashion-mnist", "synthetic" or a folder of IDX files
    learning_rate: float = 3e-4
    one_by_one: bool = False  # inference of single images too: the latency
    seed: int = 0
    skip: tuple[Case, ...] = ()  # measured before, or not to be tried again

    def __post_init__(self) -> None:
        if not self.networks:
            raise PlanError(say("Choose at least one model."))
        for name in self.networks:
            if name not in NETWORKS:
                raise PlanError(
                    say("There is no model {name}; choose from {all}.", name=repr(name), all=", ".join(NETWORKS))
                )
        _check_devices(self.devices)
        self.check_ways()
        check_between(say("Epochs"), self.epochs, 1, MOST_EPOCHS)
        check_between(say("Images"), self.images, 1, 1_000_000)
        if not self.batches or len(set(self.batches)) < len(self.batches):
            raise PlanError(say("Choose each batch size once, and at least one."))
        for batch in self.batches:
            check_between(say("The batch size"), batch, 1, LARGEST_BATCH)
            if batch > self.images:
                raise PlanError(
                    say(
                        "A batch of {batch} needs at least as many images, and there are {images}: "
                        "use more images or a smaller batch.",
                        batch=batch,
                        images=self.images,
                    )
                )
            for name in self.networks:
                _check_last_batch(name, batch, self.images)

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(
            case
            for name in self.networks
            for batch in self.batches
            for lane in self.lanes_for(name, batch)
            for case in self.cases_of(name, batch, lane)
            if case not in self.skip
        )

    def cases_of(self, network: str, batch: int, lane: Lane) -> tuple[Case, ...]:
        """What is measured with one network on one lane: training, inference, and single images once."""
        cases = [Case(f"{network}/{mode}", batch, *lane) for mode in ("train", "infer")]
        if self.one_by_one and batch == self.batches[0] and 1 not in self.batches:
            cases.append(Case(f"{network}/infer", 1, *lane))
        return tuple(cases)

    def lanes_for(self, network: str, batch: int) -> tuple[Lane, ...]:
        """Those on which this network is trained."""
        lanes = self.lanes_on(self.devices, NETWORKS[network].images)
        return tuple(lane for lane in lanes if Case(f"{network}/train", batch, *lane) not in self.skip)


@dataclass(frozen=True)
class ReplayPlan:
    """The article's two experiments with the article's clocks: a sweep of matrix × vector, and a training."""

    sweep: SweepPlan
    training: TrainingPlan

    def __post_init__(self) -> None:
        training = self.training
        unusual = any(lane.settings for name in training.networks for lane in training.lanes_for(name, self.batch))
        if len(training.batches) > 1 or training.one_by_one or unusual:
            raise PlanError(say("The article used float32, one batch size and no single images: choose the same."))

    @property
    def batch(self) -> int:
        return self.training.batches[0]

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.sweep.cases, *self.training.cases)


def spaced_sizes(first: int, last: int, how_many: int, spacing: str) -> tuple[int, ...]:
    """``how_many`` whole sizes from ``first`` to ``last``, "geometric" or "even"; fewer where they coincide."""
    check_sizes(sorted({first, last}))
    check_between(say("The number of sizes"), how_many, 1, MOST_SIZES)
    space = np.geomspace if spacing == "geometric" else np.linspace
    return tuple(int(n) for n in np.unique(np.rint(space(first, last, how_many)).astype(int)))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Sizes from a command line: "article" or "128,256,512". PlanError where that is not what it is."""
    if text.strip() == "article":
        return ARTICLE_SIZES
    sizes = _numbers(text.split(","), say('Sizes are whole numbers such as 128,256,512, or the word "article"'))
    check_sizes(sizes)
    return sizes


def parse_batches(text: str) -> tuple[int, ...]:
    """Batch sizes such as "1, 32, 128". PlanError where that is not what it is."""
    return _numbers(text.split(","), say("Batch sizes are whole numbers such as 1, 32, 128"))


def parse_threads(text: str) -> tuple[int, ...]:
    """Numbers of threads such as "1, 4, 8"; nothing, or "default", is PyTorch's own choice. PlanError if it is not."""
    parts = [part.strip() for part in text.split(",") if part.strip()] or ["default"]
    numbers = _numbers(
        ["0" if part == "default" else part for part in parts],
        say('Numbers of threads are whole numbers such as 1, 4, 8, or "default"'),
    )
    for number in numbers:
        check_between(say("The number of threads"), number, 0, MOST_THREADS)
    return numbers


def _numbers(parts: Iterable[str], what: str) -> tuple[int, ...]:
    """Whole numbers without a sign, however long; PlanError that says ``what`` they should be."""
    parts = [part.strip().replace("_", "") for part in parts]
    wrong = next((part for part in parts if not (part.isascii() and part.isdigit())), None)
    if wrong is not None:
        raise PlanError(say("{rule}; {wrong} is not.", rule=what, wrong=repr(wrong)))
    return tuple(int(part[:12]) for part in parts)


def check_sizes(sizes: Sequence[int]) -> None:
    """PlanError unless there are some, in range and in ascending order."""
    if not sizes:
        raise PlanError(say("Choose at least one size."))
    if len(sizes) > MOST_SIZES:
        raise PlanError(
            say("{sizes} sizes are too many for one run: choose at most {most}.", sizes=len(sizes), most=MOST_SIZES)
        )
    for size in sizes:
        check_between(say("A size"), size, SMALLEST_SIZE, LARGEST_SIZE)
    for before, after in itertools.pairwise(sizes):
        if after <= before:
            raise PlanError(
                say(
                    "Sizes must ascend, each once, and {after} comes after {before}: put them in order.",
                    after=after,
                    before=before,
                )
            )


def _check_devices(devices: Iterable[str]) -> None:
    if not devices:
        raise PlanError(say("Choose at least one device."))
    if len(set(devices)) < len(tuple(devices)):
        raise PlanError(say("Name each device once."))


def _check_last_batch(network: str, batch: int, images: int) -> None:
    """Batch normalisation needs at least two images in every batch, the last one too."""
    smallest, last = NETWORKS[network].smallest_batch, images % batch or batch
    if last < smallest:
        title = NETWORKS[network].title
        better = (
            say("use {fewer} or {more} images", fewer=images - last, more=images + 1)
            if batch > 1
            else say("use batches of at least 2")
        )
        raise PlanError(
            say(
                "{images} images in batches of {batch} leave a last batch of {last}, on which {title} cannot "
                "train because batch normalisation needs at least {smallest}: {better}.",
                images=images,
                batch=batch,
                last=last,
                title=title,
                smallest=smallest,
                better=better,
            )
        )
