"""Knows the right answer of one operation at one size to inputs of one format, and judges answers by it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bench.measure.verification.mixtures import Summed, slices
from bench.measure.verification.population import Population
from bench.measure.verification.question import WHOLE_FLOPS, Question
from bench.measure.verification.verdicts import sampled_verdict, unverified, verdict_of, wrong
from bench.records.measurement import Check
from bench.records.reason import because
from bench.workloads.contract import Operation

if TYPE_CHECKING:
    from torch import Tensor

SAMPLE_FLOPS = 2e8  # of the lines that are compared in full where the others are estimated
BLOCK, FEWEST_BLOCKS = 16, 4  # lines that are sampled together
ESTIMATE_MARGIN = 3.0  # times the largest deviation seen where the exact answer is known, too


class Judge:
    """The same for every device."""

    def __init__(self, operation: Operation, size: int, inputs: Sequence[Tensor], dtype: str = "float32") -> None:
        self._question, self._axes = Question(operation, size, inputs, dtype), operation.truth.axes
        self._summed = Summed(self._question, WHOLE_FLOPS)

    def compare(self, answer: Tensor) -> Check:
        """Judge every element of an answer, wherever it lies."""
        import torch

        question, truth = self._question, self._question.truth
        out = answer.detach().cpu()
        out = out if out.dim() else out.view(1)
        with torch.no_grad(), torch.autocast("cpu", enabled=False):  # a case may be measured under it
            if not question.fits(out):
                return wrong(question.limits(), because("wrong_shape", shape=tuple(out.shape)))
            if not question.reliable(out):
                return unverified(question.limits())
            if question.flops > WHOLE_FLOPS and truth.mixtures:
                return self._summed.compare(out)
            if question.flops > WHOLE_FLOPS and truth.estimate:
                return self._sampled(out, truth.estimate(slice(0, question.size), *question.inputs))
            return self._whole(out)

    def _whole(self, out: Tensor) -> Check:
        """A fault among errors that are common to all elements is told from them, and placed."""
        found = self._errors(out)
        if found.wrong.count and found.clear:
            found.wrong = self._errors(out, found.clear).wrong
        return verdict_of(found, self._axes)

    def _errors(self, out: Tensor, threshold: float | None = None) -> Population:
        found = Population(out.shape, self._question.limits(out), threshold)
        for lines in slices(out.shape[self._question.truth.along], self._question.per_line):
            self._question.compare(found, out, lines)
        return found

    def _sampled(self, out: Tensor, estimate: Tensor) -> Check:
        """Some lines in full, the others by an estimate that is as good there as it is for those."""
        question, along = self._question, self._question.truth.along
        found, off = Population(out.shape, question.limits(out)), 0.0
        sample = list(self._sample())
        for lines in sample:
            exact = question.compare(found, out, lines)
            near = estimate.narrow(along, lines.start, lines.stop - lines.start)
            off = max(off, ((near - exact) / exact.abs().clamp_min(found.limits.smallest)).abs().max().item())
        rest = Population(out.shape, found.limits, ESTIMATE_MARGIN * off + found.limits.element)
        for lines in slices(question.size, out.numel() // question.size):
            near = estimate.narrow(along, lines.start, lines.stop - lines.start)
            part = out.narrow(along, lines.start, lines.stop - lines.start)
            rest.add(part, near, near if question.positive else near.abs(), along, range(lines.start, lines.stop))
        share = sum(lines.stop - lines.start for lines in sample) / question.size
        return sampled_verdict(found, rest, share, self._axes)

    def _sample(self) -> Iterator[slice]:
        """Blocks of lines: the first, the last, and a random choice."""
        size = self._question.size
        blocks = -(-size // BLOCK)
        wanted = min(blocks, max(FEWEST_BLOCKS, int(SAMPLE_FLOPS / self._question.flops * blocks)))
        chosen = {0, blocks - 1, *random.Random(size).sample(range(blocks), wanted - 2)}
        return (slice(BLOCK * one, min(BLOCK * one + BLOCK, size)) for one in sorted(chosen))
