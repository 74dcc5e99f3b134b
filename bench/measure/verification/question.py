"""What an operation was asked, and what float64 says to it: exact lines, their magnitudes, and who vouches for them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bench.measure.verification.limits import Limits, limits_of
from bench.measure.verification.population import Population
from bench.records.formats import AUTOCAST, FLOAT32
from bench.workloads.contract import Operation

if TYPE_CHECKING:
    from torch import Tensor

WHOLE_FLOPS = 5e8  # what float64 computes of an answer; a larger one is summed or sampled
SMALL, TINY = 2**24, 2**16  # numbers of an input that is kept in float64: of a product, of anything else
WITNESSES = 3  # elements by which the judge itself is judged
WITNESS_LIMIT = 1e-9  # relative; float64's own rounding is a thousandth of it at the largest sizes


class Question:
    """One operation at one size on inputs of one format."""

    def __init__(self, operation: Operation, size: int, inputs: Sequence[Tensor], dtype: str) -> None:
        self.truth, self.size, self._dtype = operation.truth, size, dtype
        self.flops = float(operation.cost(size, 4).flops)
        self.per_line = operation.bytes_needed(size, 1) // size  # numbers that a line of the answer takes
        numbers = [one for one in inputs if one.is_floating_point()]
        self.positive = all(bool((one.min() >= 0).item()) for one in numbers if one.numel())
        self.exactly = self.truth.rounding == "none"
        product = self.truth.estimate or (self.truth.mixtures and self.flops <= WHOLE_FLOPS)
        keep = 0 if self.exactly else SMALL if product else TINY  # inputs that every line takes in full
        self.inputs = [one.double() if one.is_floating_point() and one.numel() <= keep else one for one in inputs]
        self._sound: bool | None = None

    @property
    def magnitudes(self) -> list[Tensor]:
        """The inputs' absolute values."""
        if self.positive:
            return self.inputs
        return [one.abs() if one.is_floating_point() else one for one in self.inputs]

    def limits(self, out: Tensor | None = None) -> Limits:
        """What autocast leaves in float32 is computed in float32."""
        import torch

        own = out is not None and self._dtype.startswith(AUTOCAST) and out.dtype == torch.float32
        return limits_of(self.truth.rounding, self.truth.terms(self.size), FLOAT32 if own else self._dtype)

    def exact(self, lines: slice) -> Tensor:
        exact = self.truth.exact(lines, *self.inputs)
        return exact if exact.dim() else exact.view(1)

    def magnitude(self, exact: Tensor, lines: slice) -> Tensor:
        """What errors are relative to; ``exact`` itself where nothing can cancel."""
        if self.truth.magnitude:
            return self.truth.magnitude(exact, lines, *self.inputs)
        if self.exactly or self.positive:
            return exact if self.positive else exact.abs()
        sizes = self.truth.exact(lines, *self.magnitudes)
        return sizes if sizes.dim() else sizes.view(1)

    def compare(self, found: Population, out: Tensor, lines: slice) -> Tensor:
        """Add the errors of these lines; what they should be."""
        along, exact = self.truth.along, self.exact(lines)
        part = out.narrow(along, lines.start, lines.stop - lines.start)
        if self.exactly and part.dtype == exact.dtype and part.equal(exact):
            found.add_right(part.numel())
        else:
            found.add(part, exact, self.magnitude(exact, lines), along, range(lines.start, lines.stop))
        return exact

    def fits(self, out: Tensor) -> bool:
        """Has it the shape of the right answer? As far as that is known without computing much."""
        truth = self.truth
        if not -out.dim() <= truth.along < out.dim() or out.shape[truth.along] != truth.lines(self.size):
            return False
        if not truth.mixtures:
            shape = list(self.exact(slice(0, 1)).shape)
        else:
            mixture, lengths = truth.mixtures[0], []

            def first(one: Tensor, dimension: int) -> Tensor:
                lengths.append(one.shape[dimension])
                return one.narrow(dimension, 0, 1)

            shape = list(mixture.exact(slice(0, 1), *mixture.inputs(first, *self.inputs)).shape)
            shape[mixture.mixed] = lengths[0]
        shape[truth.along] = out.shape[truth.along]
        return shape == list(out.shape)

    def reliable(self, out: Tensor) -> bool:
        """Is the reference itself right about some elements, as NumPy computes them one by one?"""
        if self._sound is None:
            self._sound = not self.truth.witness or all(map(self._agrees, self._elements(out.shape)))
        return self._sound

    def _elements(self, shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
        rng = random.Random(self.size)
        yield (0,) * len(shape)
        yield tuple(n - 1 for n in shape)
        yield from (tuple(rng.randrange(n) for n in shape) for _ in range(WITNESSES - 2))

    def _agrees(self, index: tuple[int, ...]) -> bool:
        """Numbers that are none on both sides agree: the answer is looked at, and so are they."""
        value, scale = self._element(index)
        right = self.truth.witness(index, *self.inputs) if self.truth.witness else value
        if not (math.isfinite(value) and math.isfinite(right)):
            return math.isfinite(value) == math.isfinite(right)
        return abs(value - right) <= WITNESS_LIMIT * max(abs(scale), self.limits().smallest)

    def _element(self, index: tuple[int, ...]) -> tuple[float, float]:
        """The reference's value of one element, and its magnitude, without float64 of all inputs."""
        truth, own = self.truth, [*index]
        if not truth.mixtures:
            own[truth.along], line = 0, slice(index[truth.along], index[truth.along] + 1)
            exact = self.exact(line)
            return exact[tuple(own)].item(), self.magnitude(exact, line)[tuple(own)].item()
        mixture = truth.mixtures[0]
        line = slice(index[mixture.along], index[mixture.along] + 1)
        own[mixture.along] = own[mixture.mixed] = 0

        def chosen(one: Tensor, dimension: int) -> Tensor:
            return one.narrow(dimension, index[mixture.mixed], 1)

        value, scale = (
            mixture.exact(line, *mixture.inputs(chosen, *inputs))[tuple(own)].item()
            for inputs in (self.inputs, self.magnitudes)
        )
        return value, scale
