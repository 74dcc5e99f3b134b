"""All the errors of one answer: the largest, how they spread, what they have in common, and where they are too large.

A fault is in a few elements, or is a common factor. Precision that is less than the format's is in all of them, of
about one size and of both signs. So the errors are looked at as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.measure.verification.limits import Limits
from bench.measure.verification.places import Places

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

KEPT = 4096  # errors of each part, for the median
BULK = 6.0  # times the spread of what all errors have in common: few of them are farther out
OUTLIER = 16.0  # times the root of the mean square: no error of a common cause is so far out


class Population:
    """Errors of the elements of an answer of ``shape``, added part by part."""

    def __init__(self, shape: Sequence[int], limits: Limits, threshold: float | None = None) -> None:
        self.limits = limits
        self.threshold = limits.element if threshold is None else threshold
        self.wrong, self.not_finite = Places(shape), Places(shape)
        self.blind = 0  # elements of which the reference itself is no number
        self.flushed = 0  # elements wrong only as zeros in place of numbers that the format hardly holds
        self.judged = 0
        self.worst = 0.0
        self._squares = self._along = self._weight = 0.0
        self._some: list[Tensor] = []

    def add(
        self, out: Tensor, exact: Tensor, magnitude: Tensor, along: int = 0, indices: Sequence[int] | np.ndarray = ()
    ) -> None:
        """``out`` against ``exact``, both of the given ``indices`` in dimension ``along``; overwrites nothing."""
        itself = magnitude is exact  # all are positive
        out, exact = out.double(), exact.double()
        scale = exact if itself else exact.abs().lerp_(magnitude.double(), self.limits.summed)
        scale = scale.clamp_min(self.limits.smallest)
        errors = (out - exact).div_(scale)
        low, high = (one.item() for one in errors.aminmax()) if errors.numel() else (0.0, 0.0)
        finite = math.isfinite(low) and math.isfinite(high)  # as they are not if a value is its own infinite scale
        if not finite or not (itself or math.isfinite(scale.sum().item())):
            errors, exact, scale = self._strange(out, exact, scale, along, indices)
            low, high = (one.item() for one in errors.aminmax())
        self.add_errors(errors, None if itself else exact / scale, max(-low, high))
        if max(-low, high) > self.threshold:
            mask = errors.abs() > self.threshold
            self.wrong.add(mask, along, indices)
            nothing = mask & (out == 0) & (exact.abs() < self.limits.smallest)
            self.flushed += int(nothing.sum().item())

    def add_errors(self, errors: Tensor, weights: Tensor | None, worst: float) -> None:
        """Relative errors, and what part of its scale each right value is (all of it, if None)."""
        errors = errors.reshape(-1)
        self.judged += errors.numel()
        self.worst = max(self.worst, worst)
        self._squares += errors.dot(errors).item()
        if weights is None:
            self._along += errors.sum().item()
            self._weight += errors.numel()
        else:
            weights = weights.reshape(-1)
            self._along += errors.dot(weights).item()
            self._weight += weights.dot(weights).item()
        self._some.append(errors[:: errors.numel() // KEPT | 1].abs())

    def add_right(self, number: int) -> None:
        """So many elements that are right to the last bit."""
        import torch

        self.judged += number
        self._weight += number
        self._some.append(torch.zeros(min(number, KEPT), dtype=torch.float64))

    def _strange(
        self, out: Tensor, exact: Tensor, scale: Tensor, along: int, indices: Sequence[int] | np.ndarray
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Set aside what is not finite. A number beyond the format's largest is rightly infinite."""
        import torch

        beyond = exact.abs() >= self.limits.largest
        rightly = beyond & torch.isinf(out) & (out.sign() == exact.sign())
        blind = ~torch.isfinite(exact) & ~rightly | ~torch.isfinite(scale) & ~beyond
        self.blind += int(blind.sum().item())
        bad = ~torch.isfinite(out) & ~rightly & ~blind
        self.not_finite.add(bad, along, indices)
        aside = blind | bad | rightly
        exact, scale = exact.masked_fill(aside, 0.0), scale.masked_fill(aside, 1.0)
        errors = (out.masked_fill(aside, 0.0) - exact).div_(scale)
        return errors.nan_to_num_(nan=0.0, posinf=1e300, neginf=-1e300).clamp_(-1e100, 1e100), exact, scale

    @property
    def spread(self) -> float:
        """Root of the mean square."""
        return math.sqrt(self._squares / self.judged) if self.judged else 0.0

    @property
    def bias(self) -> float:
        """By what factor, less one, all elements are too large."""
        return self._along / self._weight if self._weight else 0.0

    @property
    def bias_noise(self) -> float:
        """How far the bias of honest errors of this spread strays from nothing."""
        return self.spread / math.sqrt(self._weight) if self._weight else 0.0

    @property
    def median(self) -> float:
        import torch

        some = torch.cat(self._some) if self._some else None
        return some.median().item() if some is not None and some.numel() else 0.0

    @property
    def within(self) -> bool:
        """Is it all rounding of the format?"""
        return self.worst <= self.limits.element and not self.off_as_a_whole

    @property
    def off_as_a_whole(self) -> bool:
        """Too large by and large, though no element may be?"""
        return self.spread > self.limits.spread or abs(self.bias) > self.limits.bias + 6 * self.bias_noise

    @property
    def scaled(self) -> bool:
        """Is a factor that all elements have in common most of what is wrong?"""
        return self.bias * self.bias * self._weight > 0.5 * self._squares

    @property
    def outlying(self) -> bool:
        """Are some errors too large to be of the kind that all have?"""
        return self.widespread and self.worst > OUTLIER * self.common

    @property
    def clear(self) -> float | None:
        """Where errors that all have end and others begin; None where there are no such, or nothing beyond them."""
        end = max(self.limits.element, BULK * self.common)
        return end if self.widespread and not self.shorter and self.worst > end else None

    @property
    def common(self) -> float:
        """The spread of the bulk of the errors, which a few faults do not change."""
        return 1.4826 * self.median

    @property
    def widespread(self) -> bool:
        return self.median > self.limits.median

    @property
    def shorter(self) -> bool:
        """Is it the precision of a shorter format: in all elements, with no outlier, and of both signs?"""
        return (
            self.widespread
            and not self.outlying
            and self.worst <= self.limits.reduced
            and abs(self.bias) <= self.limits.reduced_bias
        )
