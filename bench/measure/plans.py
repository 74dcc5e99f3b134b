"""What is to be measured: the variants, sizes and cases of a plan. A plan that can't be measured is none: PlanError."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.measure.sizes import check_sizes
from bench.records.budget import EFFORTS, Budget
from bench.records.case import Case, Variant, kind_of
from bench.records.formats import CONTIGUOUS, FLOAT32, LAYOUTS, WIDTHS
from bench.records.reason import because
from bench.records.refusal import MOST_THREADS, PlanError, check_between
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS

MOST_EPOCHS = 20
LARGEST_BATCH = 65_535  # MPS has computed wrong rows beyond it (pytorch#96225, #189495)


@dataclass(frozen=True, kw_only=True)
class VariantGrid:
    """The ways in which each device computes: every combination is a variant of its own."""

    dtypes: tuple[str, ...] = (FLOAT32,)
    threads: tuple[int, ...] = (0,)  # numbers of CPU threads; 0 is PyTorch's own choice
    layouts: tuple[str, ...] = (CONTIGUOUS,)
    compiled: tuple[bool, ...] = (False,)

    def check_grid(self) -> None:
        """PlanError if a choice is empty, double or unknown."""
        for name, values, allowed in (
            (because("dtype"), self.dtypes, tuple(WIDTHS)),
            (because("thread_count"), self.threads, None),
            (because("layout"), self.layouts, LAYOUTS),
            (because("calling"), self.compiled, (False, True)),
        ):
            if not values or len(set(values)) < len(values):
                raise PlanError("choice_twice", name=name)
            if allowed and (wrong := [value for value in values if value not in allowed]):
                raise PlanError("unknown_choice", name=name, wrong=repr(wrong[0]), allowed=", ".join(map(str, allowed)))
        for number in self.threads:
            check_between("number_of_threads", number, 0, MOST_THREADS)

    def variants_on(self, devices: Iterable[str], images: bool) -> tuple[Variant, ...]:
        """Every device in every way: threads are the CPU's alone, layouts those of what has ``images``."""
        return tuple(
            Variant(device, dtype, threads, layout, compiled)
            for device in devices
            for dtype in self.dtypes
            for threads in (self.threads if kind_of(device) == "cpu" else (0,))
            for layout in (self.layouts if images else (CONTIGUOUS,))
            for compiled in self.compiled
        )


@dataclass(frozen=True)
class SweepPlan(VariantGrid):
    """One operation over sizes and devices. Sizes ascend; the variants of one size are measured together."""

    operation: str
    sizes: tuple[int, ...]
    devices: tuple[str, ...]
    budget: Budget = EFFORTS["standard"]
    seed: int = 0
    skip: tuple[Case, ...] = ()  # measured before, or not to be tried again

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise PlanError("no_operation", operation=repr(self.operation), all=", ".join(OPERATIONS))
        check_sizes(self.sizes)
        _check_devices(self.devices)
        self.check_grid()

    @property
    def variants(self) -> tuple[Variant, ...]:
        return self.variants_on(self.devices, OPERATIONS[self.operation].images)

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(case for size in self.sizes for case in self.group(size))

    def group(self, size: int) -> tuple[Case, ...]:
        """The cases of one size, one a variant."""
        cases = (Case(self.operation, size, *variant) for variant in self.variants)
        return tuple(case for case in cases if case not in self.skip)


@dataclass(frozen=True)
class TrainingPlan(VariantGrid):
    """Training and inference of networks on images, on each variant from the same weights and batches."""

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
            raise PlanError("no_model")
        for name in self.networks:
            if name not in NETWORKS:
                raise PlanError("unknown_model", name=repr(name), all=", ".join(NETWORKS))
        _check_devices(self.devices)
        self.check_grid()
        check_between("epochs", self.epochs, 1, MOST_EPOCHS)
        check_between("images", self.images, 1, 1_000_000)
        if not self.batches or len(set(self.batches)) < len(self.batches):
            raise PlanError("batch_twice")
        for batch in self.batches:
            check_between("batch_size", batch, 1, LARGEST_BATCH)
            if batch > self.images:
                raise PlanError("too_few_images", batch=batch, images=self.images)
            for name in self.networks:
                _check_last_batch(name, batch, self.images)

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(
            case
            for name in self.networks
            for batch in self.batches
            for variant in self.variants_for(name, batch)
            for case in self.cases_of(name, batch, variant)
            if case not in self.skip
        )

    def cases_of(self, network: str, batch: int, variant: Variant) -> tuple[Case, ...]:
        """What is measured with one network on one variant: training, inference, and single images once."""
        cases = [Case(f"{network}/{mode}", batch, *variant) for mode in ("train", "infer")]
        if self.one_by_one and batch == self.batches[0] and 1 not in self.batches:
            cases.append(Case(f"{network}/infer", 1, *variant))
        return tuple(cases)

    def variants_for(self, network: str, batch: int) -> tuple[Variant, ...]:
        """Those on which this network is trained."""
        variants = self.variants_on(self.devices, NETWORKS[network].images)
        return tuple(variant for variant in variants if Case(f"{network}/train", batch, *variant) not in self.skip)


@dataclass(frozen=True)
class ReplayPlan:
    """The article's two experiments with the article's clocks: a sweep of matrix × vector, and a training."""

    sweep: SweepPlan
    training: TrainingPlan

    def __post_init__(self) -> None:
        training = self.training
        unusual = any(
            variant.settings for name in training.networks for variant in training.variants_for(name, self.batch)
        )
        if len(training.batches) > 1 or training.one_by_one or unusual:
            raise PlanError("article_is_plain")

    @property
    def batch(self) -> int:
        return self.training.batches[0]

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.sweep.cases, *self.training.cases)


def _check_devices(devices: Iterable[str]) -> None:
    if not devices:
        raise PlanError("no_device")
    if len(set(devices)) < len(tuple(devices)):
        raise PlanError("device_twice")


def _check_last_batch(network: str, batch: int, images: int) -> None:
    """Batch normalisation needs at least two images in every batch, the last one too."""
    smallest, last = NETWORKS[network].smallest_batch, images % batch or batch
    if last < smallest:
        title = NETWORKS[network].title
        better = (
            because("fewer_or_more_images", fewer=images - last, more=images + 1)
            if batch > 1
            else because("batches_of_two")
        )
        raise PlanError(
            "last_batch_too_small", images=images, batch=batch, last=last, title=title, smallest=smallest, better=better
        )
