"""Sizes, batch sizes and numbers of threads: spaced, read from a command line, and checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from bench.records.reason import Reason, because
from bench.records.refusal import MOST_THREADS, PlanError, check_between
from bench.workloads.article import ARTICLE_SIZES

SMALLEST_SIZE, LARGEST_SIZE = 16, 16_384
MOST_SIZES = 200


def spaced_sizes(first: int, last: int, how_many: int, spacing: str) -> tuple[int, ...]:
    """``how_many`` whole sizes from ``first`` to ``last``, "geometric" or "even"; fewer where they coincide."""
    check_sizes(sorted({first, last}))
    check_between("number_of_sizes", how_many, 1, MOST_SIZES)
    space = np.geomspace if spacing == "geometric" else np.linspace
    return tuple(int(n) for n in np.unique(np.rint(space(first, last, how_many)).astype(int)))


def parse_sizes(text: str) -> tuple[int, ...]:
    """Sizes from a command line: "article" or "128,256,512". PlanError where that is not what it is."""
    if text.strip() == "article":
        return ARTICLE_SIZES
    sizes = _numbers(text.split(","), because("sizes_rule"))
    check_sizes(sizes)
    return sizes


def parse_batches(text: str) -> tuple[int, ...]:
    """Batch sizes such as "1, 32, 128". PlanError where that is not what it is."""
    return _numbers(text.split(","), because("batches_rule"))


def parse_threads(text: str) -> tuple[int, ...]:
    """Numbers of threads such as "1, 4, 8"; nothing, or "default", is PyTorch's own choice. PlanError if it is not."""
    parts = [part.strip() for part in text.split(",") if part.strip()] or ["default"]
    numbers = _numbers(["0" if part == "default" else part for part in parts], because("threads_rule"))
    for number in numbers:
        check_between("number_of_threads", number, 0, MOST_THREADS)
    return numbers


def _numbers(parts: Iterable[str], rule: Reason) -> tuple[int, ...]:
    """Whole numbers without a sign, however long; PlanError with the ``rule`` that they break."""
    parts = [part.strip().replace("_", "") for part in parts]
    wrong = next((part for part in parts if not (part.isascii() and part.isdigit())), None)
    if wrong is not None:
        raise PlanError("breaks_rule", rule=rule, wrong=repr(wrong))
    return tuple(int(part[:12]) for part in parts)


def check_sizes(sizes: Sequence[int]) -> None:
    """PlanError unless there are some, in range and in ascending order."""
    if not sizes:
        raise PlanError("no_size")
    if len(sizes) > MOST_SIZES:
        raise PlanError("too_many_sizes", sizes=len(sizes), most=MOST_SIZES)
    for size in sizes:
        check_between("a_size", size, SMALLEST_SIZE, LARGEST_SIZE)
    for before, after in itertools.pairwise(sizes):
        if after <= before:
            raise PlanError("sizes_descend", after=after, before=before)
