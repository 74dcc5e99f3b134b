"""Knows the right answer of one operation at one size to inputs of one format, and judges answers by it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.measure.verification.limits import limits_of
from bench.measure.verification.mixtures import Mixed, groups_for, slices
from bench.measure.verification.places import Places
from bench.measure.verification.population import OUTLIER, Population
from bench.measure.verification.verdicts import not_finite, unverified, verdict_of, wrong
from bench.records.measurement import Check
from bench.records.reason import because
from bench.workloads.contract import Operation

if TYPE_CHECKING:
    from torch import Tensor

WHOLE_FLOPS = 1e9  # what float64 computes of an answer; for a larger one, that is summed or sampled
CONFIRM_FLOPS = 2.5e8  # for the elements of suspect lines
SMALL = 2**23  # numbers of an input that is kept in float64
WITNESSES = 3  # elements by which the judge itself is judged
WITNESS_LIMIT = 1e-9  # relative; float64's own rounding is a thousandth of it at the largest sizes
ESTIMATE_MARGIN = 3.0  # times the largest deviation seen where the exact answer is known, too


class Judge:
    """The same for every device."""

    def __init__(self, operation: Operation, size: int, inputs: Sequence[Tensor], dtype: str = "float32") -> None:
        self._operation, self._truth, self._size = operation, operation.truth, size
        self._flops = float(operation.cost(size, 4).flops)
        self._limits = limits_of(self._truth.rounding, self._truth.terms(size), dtype)
        numbers = [one for one in inputs if one.is_floating_point()]
        self._positive = all(bool((one.min() >= 0).item()) for one in numbers if one.numel())
        keep = self._truth.rounding != "none"
        self._inputs = [
            one.double() if keep and one.is_floating_point() and one.numel() <= SMALL else one for one in inputs
        ]
        self._per_line = operation.bytes_needed(size, 1) // size
        self._mixed: list[Mixed] | None = None
        self._sound: bool | None = None

    @property
    def limit(self) -> float:
        """Of an element's error."""
        return self._limits.element

    def compare(self, answer: Tensor) -> Check:
        """Judge every element of an answer, wherever it lies."""
        import torch

        out = answer.detach().cpu()
        along = self._truth.along
        if not out.dim() or out.shape[along] != self._size:
            return wrong(self._limits, because("wrong_shape", shape=tuple(out.shape)))
        if not self._reliable(out):
            return unverified(self._limits)
        with torch.no_grad():
            if self._whole:
                return self._verdict(out, self._compare_whole(out))
            if self._truth.mixtures:
                return self._compare_mixed(out)
            return self._compare_sampled(out)

    @property
    def _whole(self) -> bool:
        other = self._truth.mixtures or self._truth.estimate
        return not other or self._flops <= WHOLE_FLOPS

    def _compare_whole(self, out: Tensor, threshold: float | None = None) -> Population:
        found = Population(out.shape, self._limits, threshold)
        for lines in slices(self._size, self._per_line):
            self._add(found, out, lines)
        return found

    def _add(self, found: Population, out: Tensor, lines: slice) -> None:
        along = self._truth.along
        exact = self._truth.exact(lines, *self._inputs)
        part = out.narrow(along, lines.start, lines.stop - lines.start)
        found.add(part, exact, self._magnitude(exact, lines), along, range(lines.start, lines.stop))

    def _magnitude(self, exact: Tensor, lines: slice) -> Tensor:
        if self._truth.magnitude:
            return self._truth.magnitude(exact, lines, *self._inputs)
        if self._positive or self._truth.rounding == "none":
            return exact if self._positive else exact.abs()
        return self._truth.exact(lines, *(one.abs() if one.is_floating_point() else one for one in self._inputs))
