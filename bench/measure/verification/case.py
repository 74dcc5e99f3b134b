"""The answers of one case while it is measured: one is judged in full, those that follow are compared with it.

Comparing bit by bit is cheap, and what differs is judged in full, too: some devices add up in another order each time.
A fault that comes only now and then is looked for in timed blocks, whose last answers are kept, and in calls queued
back to back as they are timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bench.measure import clock
from bench.measure.verification.judge import Judge
from bench.measure.verification.verdicts import worse
from bench.records.measurement import WRONG, Check

if TYPE_CHECKING:
    import torch
    from torch import Tensor

NAN_ELEMENTS = 2**21  # of memory filled with NaN before an answer is checked, together
MOST_BLOCKS = 200  # of memory
PART = 0.01  # of the time that a case is measured, for each of the two kinds of comparing
IN_A_ROW = 64  # calls at most


class Outline(NamedTuple):
    """What memory an answer takes."""

    shape: Sequence[int]
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, answer: Tensor) -> Outline:
        return cls(answer.shape, answer.dtype, answer.device)


class Verifier:
    """Of one case; holds the answer that was judged, on the device."""

    def __init__(self, judge: Judge, step: Callable[[], Tensor], outline: Outline) -> None:
        self._judge, self._step, self._outline = judge, step, outline
        self._judged: Tensor | None = None
        self._spent_s = 0.0
        self.check: Check | None = None

    def first(self) -> None:
        """Judge an answer in full, computed over memory full of NaN: what a kernel forgets to write shows."""
        self._forget()
        self._look(self._step())

    def timed(self, answer: Tensor, measured_s: float) -> None:
        """Compare an answer of a timed block, unless such comparing has taken its part of ``measured_s``."""
        if self._spent_s <= PART * measured_s:
            began = clock.now()
            self._look(answer)
            self._spent_s += clock.now() - began

    def last(self, step_s: float, measured_s: float) -> None:
        """At the end: calls back to back, each element at its largest and smallest.

        Of a step too long for that the answers of timed blocks were all compared.
        """
        calls = min(IN_A_ROW, int(PART * measured_s / max(2 * step_s, 1e-6)))
        if calls and self._judged is not None and not self._lost:
            import torch

            high, low = self._judged.clone(), self._judged.clone()
            for _ in range(calls):
                answer = self._step()
                torch.maximum(high, answer, out=high)
                torch.minimum(low, answer, out=low)
                del answer
            self._look(high)
            self._look(low)
        self._judged = None

    @property
    def _lost(self) -> bool:
        return self.check is not None and self.check.verdict == WRONG

    def _look(self, answer: Tensor) -> None:
        import torch

        if self._lost or (self._judged is not None and torch.equal(answer, self._judged)):
            return
        found = self._judge.compare(answer)
        self.check = worse(self.check, found) if self.check else found
        if self._judged is None:
            self._judged = answer

    def _forget(self) -> None:
        """Fill what the allocator has lying about with NaN, as many blocks of an answer's size as use it up."""
        import torch

        shape, dtype, device = self._outline
        many = max(1, min(MOST_BLOCKS, NAN_ELEMENTS // max(1, math.prod(shape))))
        blocks = [torch.full(shape, math.nan, dtype=dtype, device=device) for _ in range(many)]
        del blocks
