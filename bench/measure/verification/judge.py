"""Knows the right answer of one operation at one size to inputs of one format, and judges answers by it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from bench.measure.verification.limits import limits_of
from bench.measure.verification.mixtures import Mixed, groups_for, slices
from bench.measure.verification.places import Places
from bench.measure.verification.population import OUTLIER, Population
from bench.measure.verification.verdicts import (
    not_finite,
    sampled_verdict,
    unverified,
    verdict_of,
    verdict_of_sums,
    wrong,
    wrong_at,
)
from bench.records.measurement import Check
from bench.records.reason import because
from bench.workloads.contract import Mixture, Operation

if TYPE_CHECKING:
    from torch import Tensor

WHOLE_FLOPS = 1e9  # what float64 computes of an answer; for a larger one, that is summed or sampled
CONFIRM_FLOPS = 2.5e8  # for the elements of suspect lines
SMALL = 2**23  # numbers of an input that is kept in float64
WITNESSES = 3  # elements by which the judge itself is judged
WITNESS_LIMIT = 1e-9  # relative; float64's own rounding is a thousandth of it at the largest sizes
FEWEST_LINES = 8  # that are computed element by element, however long they are
BLOCK, FEWEST_BLOCKS = 8, 4  # lines that are sampled together
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
        if self._truth.rounding == "none" and part.dtype == exact.dtype and part.equal(exact):
            found.add_right(part.numel())
            return
        found.add(part, exact, self._magnitude(exact, lines), along, range(lines.start, lines.stop))

    def _magnitude(self, exact: Tensor, lines: slice) -> Tensor:
        if self._truth.magnitude:
            return self._truth.magnitude(exact, lines, *self._inputs)
        if self._positive or self._truth.rounding == "none":
            return exact if self._positive else exact.abs()
        return self._truth.exact(lines, *(one.abs() if one.is_floating_point() else one for one in self._inputs))

    def _verdict(self, out: Tensor, found: Population) -> Check:
        """Of all elements; a fault among errors that are common to all is told from them, and placed."""
        if found.outlying and found.wrong.count:
            found.wrong = self._compare_whole(out, OUTLIER * found.common).wrong
        return verdict_of(found, self._truth.axes)

    def _compare_mixed(self, out: Tensor) -> Check:
        """By sums; lines whose sums are off are computed element by element, as many as ``CONFIRM_FLOPS`` allows."""
        import torch

        finite = torch.isfinite(out)
        if not bool(finite.all().item()):
            places = Places(out.shape)
            places.add(~finite, 0, range(out.shape[0]))
            return not_finite(self._limits, places, out.numel(), self._truth.axes)
        if self._mixed is None:
            self._mixed = [self._mixing(mixture, out.shape) for mixture in self._truth.mixtures]
        sums = [(mixed, self._sums(out, mixed)) for mixed in self._mixed]
        suspects = [(mixed, found) for mixed, found in sums if found.wrong.count and not found.shorter]
        for mixed, found in sorted(suspects, key=lambda one: len(one[1].wrong.indices[one[0].mixture.along])):
            confirmed = self._confirm(out, mixed, found)
            if confirmed.wrong.count:
                return wrong_at(confirmed, self._truth.axes, found)
        return verdict_of_sums([found for _, found in sums])

    def _sums(self, out: Tensor, mixed: Mixed) -> Population:
        found = mixed.compare(out, self._limits.of_sums())
        if found.outlying and found.wrong.count:
            found.wrong = mixed.compare(out, self._limits.of_sums(), OUTLIER * found.common).wrong
        return found

    def _mixing(self, mixture: Mixture, shape: Sequence[int]) -> Mixed:
        length = shape[mixture.mixed]
        groups = groups_for(self._flops, self._truth.mixtures, length, WHOLE_FLOPS)
        return Mixed(mixture, self._inputs, self._positive, length, groups)

    def _confirm(self, out: Tensor, mixed: Mixed, suspects: Population) -> Population:
        """The elements of suspect lines; of very many lines, a choice of them."""
        along = mixed.mixture.along
        lines = suspects.wrong.indices[along]
        most = max(FEWEST_LINES, int(CONFIRM_FLOPS * self._size / self._flops))
        chosen = lines if len(lines) <= most else [lines[i * (len(lines) - 1) // (most - 1)] for i in range(most)]
        threshold = OUTLIER * suspects.common if suspects.outlying else None
        found = Population(out.shape, self._limits, threshold)
        for line in map(int, chosen):
            one = slice(line, line + 1)
            exact = mixed.mixture.exact(one, *self._inputs)
            scale = exact if self._positive else mixed.mixture.exact(one, *map(abs, self._inputs))
            found.add(out.narrow(along, line, 1), exact, scale, along, [line])
        if len(chosen) < len(lines):
            found.wrong.mark(along, lines)
        return found

    def _compare_sampled(self, out: Tensor) -> Check:
        """Some lines in full, the others by an estimate that is as good there as it is for those."""
        along, estimate = self._truth.along, self._truth.estimate(slice(0, self._size), *self._inputs)
        found, off = Population(out.shape, self._limits), 0.0
        lines = list(self._sample())
        for one in lines:
            self._add(found, out, one)
            exact = self._truth.exact(one, *self._inputs)
            near = estimate.narrow(along, one.start, one.stop - one.start)
            off = max(off, ((near - exact) / exact.abs().clamp_min(self._limits.smallest)).abs().max().item())
        rest = Population(out.shape, self._limits, ESTIMATE_MARGIN * off)
        for part in slices(self._size, out.numel() // self._size):
            index = part.start, part.stop - part.start
            near = estimate.narrow(along, *index)
            magnitude = near if self._positive else near.abs()
            rest.add(out.narrow(along, *index), near, magnitude, along, range(part.start, part.stop))
        share = sum(one.stop - one.start for one in lines) / self._size
        return sampled_verdict(found, rest, share, self._truth.axes)

    def _sample(self) -> Iterator[slice]:
        """Blocks of lines: the first, the last, and a random choice."""
        blocks = -(-self._size // BLOCK)
        wanted = min(blocks, max(FEWEST_BLOCKS, int(WHOLE_FLOPS / self._flops * blocks)))
        chosen = {0, blocks - 1, *random.Random(self._size).sample(range(blocks), wanted - 2)}
        return (slice(BLOCK * one, min(BLOCK * one + BLOCK, self._size)) for one in sorted(chosen))

    def _reliable(self, out: Tensor) -> bool:
        """Is the judge itself right about some elements, as NumPy computes them one by one?"""
        witness = self._truth.witness
        if self._sound is None and witness:
            self._sound = all(self._agrees(index, witness) for index in self._elements(out.shape))
        return self._sound is not False

    def _elements(self, shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
        rng = random.Random(self._size)
        yield (0,) * len(shape)
        yield tuple(n - 1 for n in shape)
        yield from (tuple(rng.randrange(n) for n in shape) for _ in range(WITNESSES - 2))

    def _agrees(self, index: tuple[int, ...], witness: Callable[..., float]) -> bool:
        """Numbers that are none on both sides agree: the answer is looked at, and so are they."""
        along = self._truth.along
        line = index[along]
        part = self._truth.exact(slice(line, line + 1), *self._inputs)
        own = list(index)
        own[along] = 0
        value, right = part[tuple(own)].item(), witness(index, *self._inputs)
        scale = self._magnitude(part, slice(line, line + 1))[tuple(own)].item()
        if not (math.isfinite(value) and math.isfinite(right)):
            return math.isfinite(value) == math.isfinite(right)
        return abs(value - right) <= WITNESS_LIMIT * max(abs(scale), self._limits.smallest)
