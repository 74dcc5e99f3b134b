"""Large products judged whole, in the time of reading them: Freivalds' check, line by line and group by group.

C = A B is tested as C X = A (B X), where X sums groups of columns with random signs: each row of C gives one number a
group, off by the rounding of the group's elements (its square root more than one element's) unless something is wrong
there. The same with groups of rows tests it column by column. A convolution is summed over its channels.

What this cannot see is an error of one element that is less than the rounding of its whole group: in float32 far below
a ten thousandth, but in a format of few digits some per cent, where groups are large.
R. Freivalds, Probabilistic machines can use less running time, IFIP Congress 1977.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bench.measure.verification.limits import Limits
from bench.measure.verification.places import Places
from bench.measure.verification.population import Population
from bench.measure.verification.question import Question
from bench.measure.verification.verdicts import not_finite, verdict_of_sums, wrong_at
from bench.records.measurement import Check
from bench.workloads.contract import Mixture

if TYPE_CHECKING:
    from torch import Tensor

FEWEST = 4  # groups, however long they take
FEWEST_LINES = 8  # that are computed element by element, however long they are
CONFIRM_FLOPS = 2.5e8  # for the elements of suspect lines
COLUMNS = 64  # that are taken from memory together, where what they hold lies side by side
PARTS, LEAST, MOST = 32, 2**17, 2**18  # of what is looked at together, numbers: few enough for a core's cache


class Summed:
    """Judges answers by their sums; lines whose sums are off are then computed element by element."""

    def __init__(self, question: Question, budget: float) -> None:
        self._question, self._budget = question, budget
        self._known: list[Mixed] = []

    def compare(self, out: Tensor) -> Check:
        import torch

        question, axes = self._question, self._question.truth.axes
        if not self._known:
            self._known = [self._mixed(mixture, out.shape) for mixture in question.truth.mixtures]
        sums = [(mixed, self._sums(out, mixed)) for mixed in self._known]
        if any(found.not_finite.count for _, found in sums):
            places = Places(out.shape)
            places.add(~torch.isfinite(out), 0, range(out.shape[0]))
            return not_finite(question.limits(out), places, out.numel(), axes)
        suspects = [(mixed, found) for mixed, found in sums if found.wrong.count and not found.shorter]
        for mixed, found in sorted(suspects, key=lambda one: len(one[1].wrong.indices[one[0].mixture.along])):
            confirmed = self._confirm(out, mixed, found)
            if confirmed.wrong.count:
                return wrong_at(confirmed, axes, found)
        return verdict_of_sums([found for _, found in sums])

    def _mixed(self, mixture: Mixture, shape: Sequence[int]) -> Mixed:
        length = shape[mixture.mixed]
        groups = groups_for(self._question.flops, len(self._question.truth.mixtures), length, self._budget)
        return Mixed(mixture, self._question, length, groups)

    def _sums(self, out: Tensor, mixed: Mixed) -> Population:
        limits = self._question.limits(out).of_sums()
        found = mixed.compare(out, limits)
        if found.wrong.count and found.clear:
            found.wrong = mixed.compare(out, limits, found.clear).wrong
        return found

    def _confirm(self, out: Tensor, mixed: Mixed, suspects: Population) -> Population:
        """The elements of suspect lines; of very many lines, a choice of them."""
        question, along = self._question, mixed.mixture.along
        lines = suspects.wrong.indices[along]
        most = max(FEWEST_LINES, int(CONFIRM_FLOPS * question.size / question.flops))
        chosen = lines if len(lines) <= most else lines[[i * (len(lines) - 1) // (most - 1) for i in range(most)]]
        found = Population(out.shape, question.limits(out), suspects.clear)
        for line in map(int, chosen):
            one = slice(line, line + 1)
            exact = mixed.mixture.exact(one, *question.inputs)
            scale = exact if question.positive else mixed.mixture.exact(one, *question.magnitudes)
            found.add(out.narrow(along, line, 1), exact, scale, along, [line])
        if len(chosen) < len(lines):
            found.wrong.mark(along, lines)
        return found


class Mixed:
    """One way of summing an answer, with what it should give for all the answers to the same inputs."""

    def __init__(self, mixture: Mixture, question: Question, length: int, groups: int) -> None:
        import torch

        self.mixture = mixture
        self.width = -(-length // groups)
        signs = torch.randint(0, 2, (length,), generator=torch.Generator().manual_seed(length)).mul_(2).sub_(1)
        self._mix: Callable[[Tensor, int], Tensor] = partial(_summed, signs.double(), self.width)
        self._magnitudes = None
        if question.positive:  # what errors are relative to, in one go: the sums without signs, behind those with
            self._inputs = mixture.inputs(partial(_summed_twice, signs.double(), self.width), *question.inputs)
        else:
            self._inputs = mixture.inputs(self._mix, *question.inputs)
            self._magnitudes = mixture.inputs(partial(_summed, None, self.width), *question.magnitudes)
        widths = torch.full((-(-length // self.width),), float(self.width), dtype=torch.float64)
        widths[-1] = length - self.width * (len(widths) - 1)
        self._roots = widths.sqrt()
        self._known: dict[int, tuple[Tensor, Tensor]] = {}

    def compare(self, out: Tensor, limits: Limits, threshold: float | None = None) -> Population:
        """The errors of all sums of ``out``, each relative to what the rounding of so many elements is relative to."""
        along, mixed = self.mixture.along, self.mixture.mixed
        shape = list(out.shape)
        shape[mixed] = len(self._roots)
        found = Population(shape, limits, threshold)
        fewest = COLUMNS if along == -1 else 1
        for lines in slices(out.shape[along], out.numel() // out.shape[along], fewest):
            exact, scale = self._expected(lines, mixed, out.dim())
            part = self._mix(out.narrow(along, lines.start, lines.stop - lines.start), mixed)
            found.add(part, exact, scale, along, range(lines.start, lines.stop))
        return found

    def _expected(self, lines: slice, mixed: int, dimensions: int) -> tuple[Tensor, Tensor]:
        if lines.start not in self._known:
            groups, exact = len(self._roots), self.mixture.exact(lines, *self._inputs)
            if self._magnitudes is None:
                exact, scale = exact.narrow(mixed, 0, groups), exact.narrow(mixed, groups, groups)
            else:
                scale = self.mixture.exact(lines, *self._magnitudes)
            shape = [1] * dimensions
            shape[mixed] = -1
            self._known[lines.start] = exact, scale / self._roots.view(shape)
        return self._known[lines.start]


def slices(length: int, numbers: int, fewest: int = 1) -> Iterator[slice]:
    """Parts of ``range(length)``, of at least so many lines; a line of it has so many ``numbers``."""
    step = max(fewest, min(MOST, max(LEAST, length * numbers // PARTS)) // max(1, numbers))
    return (slice(first, min(first + step, length)) for first in range(0, length, step))


def groups_for(flops: float, ways: int, length: int, budget: float) -> int:
    """How many sums a line may have, so that all ``ways`` of summing cost ``budget`` FLOP; the whole has ``flops``."""
    one = 2 * ways * flops / length  # of a group: the sums, and what they are relative to
    return max(min(FEWEST, length), min(length, math.floor(budget / one)))


def _summed(signs: Tensor | None, width: int, tensor: Tensor, dimension: int) -> Tensor:
    """Sums of ``width`` neighbours along a dimension, with signs; float64, made part by part."""
    import torch

    return torch.cat(*_parts(lambda part, some: _sums(some, width, part, dimension), signs, width, tensor, dimension))


def _summed_twice(signs: Tensor, width: int, tensor: Tensor, dimension: int) -> Tensor:
    """The same, and behind it the sums without signs."""
    import torch

    plain: list[Tensor] = []

    def both(part: Tensor, some: Tensor | None) -> Tensor:
        plain.append(_sums(None, width, part, dimension))
        return _sums(some, width, part, dimension)

    parts, along = _parts(both, signs, width, tensor, dimension)
    return torch.cat((torch.cat(parts, along), torch.cat(plain, along)), dimension)


def _parts(
    change: Callable[[Tensor, Tensor | None], Tensor],
    signs: Tensor | None,
    width: int,
    tensor: Tensor,
    dimension: int,
) -> tuple[list[Tensor], int]:
    """What ``change`` makes of parts and their signs, and along which dimension they lie side by side."""
    length, last = tensor.shape[dimension], dimension % tensor.dim() == tensor.dim() - 1
    if last and tensor.dim() > 1:  # rows, each in full
        rows = slices(tensor.shape[-2], tensor.numel() // tensor.shape[-2])
        return [change(tensor[..., one, :], signs) for one in rows], -2
    groups = slices(-(-length // width), tensor.numel() // length * width)
    spans = [(one.start * width, min(one.stop * width, length)) for one in groups]
    return [
        change(tensor.narrow(dimension, first, end - first), None if signs is None else signs[first:end])
        for first, end in spans
    ], dimension


def _sums(signs: Tensor | None, width: int, part: Tensor, dimension: int) -> Tensor:
    import torch

    length = part.shape[dimension]
    if signs is not None:
        shape = [1] * part.dim()
        shape[dimension] = length
        part = part * signs.view(shape)  # float64, as the signs are
    groups = length // width
    at = dimension % part.dim()
    sums = part.narrow(at, 0, groups * width).unflatten(at, (groups, width)).sum(at + 1, dtype=torch.float64)
    if groups * width == length:
        return sums
    rest = part.narrow(at, groups * width, length - groups * width).sum(at, keepdim=True, dtype=torch.float64)
    return torch.cat((sums, rest), at)
