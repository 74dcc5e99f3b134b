"""Does the device compute the right thing? Float64 on the CPU is the judge.

An operation is checked on the very tensors that are timed, before and after: rows (and columns) of its
output, the first, the last and a random choice, against the same rows computed in float64, and the whole
output for numbers that are not finite. The block in which the output will lie is filled with NaN first,
so that what a kernel forgets to write shows.

Tolerance of an output that sums k products in a format with unit roundoff u: the error is at most about
λ √k u times the sum of the products' magnitudes, with a probability that grows fast with λ (N. Higham and
T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019, theorem 2.4).
λ = 8 here. An error above that but below what rounding the inputs to TF32 (u = 2^-11, two inputs) allows is
*reduced precision*: named, not wrong.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bench.records.formats import computed
from bench.records.measurement import REDUCED, RIGHT, UNVERIFIED, WRONG, Check
from bench.records.reason import Figure, Quantity, Reason, because
from bench.workloads.contract import Operation

if TYPE_CHECKING:
    import torch
    from torch import Tensor

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}  # unit roundoff
REDUCED_ROUNDOFF = 2.0**-11  # of TF32's inputs
LAMBDA = 8.0
PICKED = 24  # rows, and columns
MOST_FLOPS = 2e9  # of the float64 reference: about a second of one slow core
NAN_ELEMENTS = 2**21  # of memory filled with NaN before an answer is checked, together
FINITE_ON_CPU = 2**24  # elements; a larger output is tested for NaN where it lies, copying would take too long


def pick(length: int) -> list[int]:
    """The first, the last, and a seeded random choice of ``range(length)``; all of it if it is short."""
    if length <= PICKED:
        return list(range(length))
    return sorted({0, length - 1, *random.Random(length).sample(range(length), PICKED - 2)})


class Outline(NamedTuple):
    """What memory an answer takes."""

    shape: Sequence[int]
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, answer: Tensor) -> Outline:
        return cls(answer.shape, answer.dtype, answer.device)


class Judge:
    """Knows the right answer of one operation at one size to inputs of one dtype; the same for every device."""

    def __init__(
        self,
        operation: Operation,
        size: int,
        function: Callable[..., Tensor],
        inputs: Sequence[Tensor],
        dtype: str = "float32",
    ) -> None:
        self._terms = operation.terms(size) if operation.terms else 1
        self._dtype = dtype
        self._axes = {dimension: pick(size) for dimension in operation.picked}
        self._exact = None
        share = math.prod(len(axis) / size for axis in self._axes.values())
        if operation.cost(size, 4).flops * share > MOST_FLOPS:
            return
        picks = list(self._axes.values())
        inputs = [tensor.double() if tensor.is_floating_point() else tensor for tensor in inputs]
        if operation.part:
            inputs = operation.part(picks, *inputs)
        if operation.choice:
            function = partial(operation.choice, picks)
        self._exact = function(*inputs)
        largest = operation.scale == "largest"
        self._scale = self._exact.abs().max() if largest else function(*(tensor.abs() for tensor in inputs))

    def check(self, step: Callable[[], Tensor], outline: Outline) -> Check:
        """Let the device compute once more, over memory full of NaN, and compare; ``outline`` is its answer's."""
        import torch

        if self._exact is None:
            return Check(UNVERIFIED, None, None, because("too_large_to_check"))
        shape, dtype, device = outline
        many = max(1, min(200, NAN_ELEMENTS // max(1, math.prod(shape))))
        # as many as use up what the allocator has lying about: then it hands out one of these, or several joined
        blocks = [torch.full(shape, math.nan, dtype=dtype, device=device) for _ in range(many)]
        del blocks
        return self.compare(step())

    def compare(self, out: Tensor) -> Check:
        """How far ``out`` is from the right answer."""
        import torch

        assert self._exact is not None  # ``check`` has seen to it
        finite = torch.isfinite(out if out.numel() > FINITE_ON_CPU else out.cpu())
        if not bool(finite.all()):
            share = 1 - finite.sum().item() / finite.numel()
            why = because("not_finite", share=Quantity(share, "%"))
            return Check(WRONG, None, self.limit, why)
        for dimension, axis in self._axes.items():
            out = out.index_select(dimension, torch.tensor(axis, device=out.device))
        error = ((out.cpu().double() - self._exact).abs() / self._scale.clamp_min(1e-300)).max().item()
        if error <= self.limit:
            return Check(RIGHT, error, self.limit)
        if error <= self.limit + max(2 * REDUCED_ROUNDOFF, 4 * ROUNDOFF[computed(self._dtype)]):
            return Check(REDUCED, error, self.limit, reduced(error))
        why = because("differs", what=because("result"), part=part(error))
        return Check(WRONG, error, self.limit, why)

    @property
    def limit(self) -> float:
        """Largest error, relative to the sum of magnitudes, that the format explains.

        Sums of formats shorter than float32 are expected to be made in float32, and rounded once at the end; the
        reference of float64 is as long as what it judges, and may be as far off.
        """
        own = ROUNDOFF[computed(self._dtype)]
        summing = 2 * own if self._dtype == "float64" else ROUNDOFF["float32"]
        rounded = 2 * own if computed(self._dtype) != self._dtype else 0.0  # autocast rounds both factors
        return LAMBDA * math.sqrt(self._terms) * summing + 2 * own + rounded


def worse(first: Check, second: Check) -> Check:
    """The check that says more against the device."""
    order = (RIGHT, UNVERIFIED, REDUCED, WRONG)
    return max(first, second, key=lambda check: (order.index(check.verdict), check.error or 0.0))


def number(error: float) -> float | None:
    """For strict JSON."""
    return error if math.isfinite(error) else None


def reduced(error: float) -> Reason:
    """Of REDUCED."""
    return because("reduced_precision", part=part(error))


def part(error: float | None) -> Figure:
    """A relative error for people."""
    if error is None or not math.isfinite(error):
        return because("no_number")
    return Quantity(error, "%")
