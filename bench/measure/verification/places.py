"""Where in an answer something is wrong: "rows 500 to 509", "the tile of rows 32 to 63, columns 0 to 31"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench.records.reason import Reason, because

if TYPE_CHECKING:
    from torch import Tensor

DENSE = 0.5  # of a block of indices: then it is named as the block
FEWEST_STEPS = 4  # lines at one distance that are called a pattern
AXES = {1: ("row",), 2: ("row", "column"), 3: ("matrix", "row", "column"), 4: ("image", "channel", "row", "column")}
ONE = {
    "row": because("axis_row"),
    "column": because("axis_column"),
    "matrix": because("axis_matrix"),
    "image": because("axis_image"),
    "channel": because("axis_channel"),
    "head": because("axis_head"),
}
MANY = {
    "row": because("axes_rows"),
    "column": because("axes_columns"),
    "matrix": because("axes_matrices"),
    "image": because("axes_images"),
    "channel": because("axes_channels"),
    "head": because("axes_heads"),
}


class Places:
    """Marked elements of an answer: which indices of each dimension they have, and how many they are."""

    def __init__(self, shape: Sequence[int]) -> None:

        self.shape = tuple(shape) or (1,)
        self.count = 0
        self.first: tuple[int, ...] = ()  # the first of them
        self._seen = [np.zeros(n, dtype=bool) for n in self.shape]

    def add(self, mask: Tensor, along: int, indices: Sequence[int] | np.ndarray) -> None:
        """``mask`` is of the elements whose indices in dimension ``along`` are given, in the order of the answer."""
        import torch

        found = torch.nonzero(mask.reshape(self._part(len(indices), along)))
        if not len(found):
            return
        self.count += len(found)
        for dimension, seen in enumerate(self._seen):
            at = found[:, dimension].unique().numpy()
            seen[_at(indices, at) if dimension == along % len(self.shape) else at] = True
        if not self.first:
            own = found[0].tolist()
            own[along] = int(indices[own[along]])
            self.first = tuple(own)

    @staticmethod
    def line(axis: str, at: int) -> Reason:
        """ "row 7"."""
        return because("place_line", axis=ONE[axis], at=at)

    def mark(self, along: int, indices: np.ndarray) -> None:
        """More lines that are taken for wrong as those looked at were."""
        seen = self._seen[along % len(self.shape)]
        before = seen.sum()
        seen[indices] = True
        self.count = int(self.count * seen.sum() / max(before, 1))

    def _part(self, lines: int, along: int) -> tuple[int, ...]:
        shape = list(self.shape)
        shape[along] = lines
        return tuple(shape)

    @property
    def indices(self) -> list[np.ndarray]:

        return [np.flatnonzero(seen) for seen in self._seen]

    def reason(self, axes: Sequence[str] = ()) -> Reason | None:
        """The place as a reason; ``axes`` are the names of the dimensions, where they are not the usual ones."""
        if not self.count:
            return None
        indices, axes = self.indices, axes or AXES.get(len(self.shape), ("image",) * len(self.shape))
        if self.count == 1 and len(self.shape) > 1:
            return because("place_element", at=self.first)
        if self.count < DENSE * math.prod(map(len, indices)):
            return because("place_scattered", number=self.count, at=self.first)
        parts = tuple(_lines(axis, one) for axis, one, n in zip(axes, indices, self.shape, strict=True) if len(one) < n)
        if not parts:
            return because("place_everywhere")
        return parts[0] if len(parts) == 1 else because("place_block", parts=parts)


def _at(indices: Sequence[int] | np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return np.asarray(indices)[chosen]


def _lines(axis: str, indices: np.ndarray) -> Reason:
    """Which lines of one dimension: one, a range, every so many, or so many of them."""
    first, last = int(indices[0]), int(indices[-1])
    if len(indices) == 1:
        return because("place_line", axis=ONE[axis], at=first)
    steps = np.unique(np.diff(indices))
    if len(steps) == 1 and (steps[0] == 1 or len(indices) >= FEWEST_STEPS):
        if steps[0] == 1:
            return because("place_lines", axis=MANY[axis], first=first, last=last)
        return because("place_every", axis=MANY[axis], step=int(steps[0]), first=first)
    return because("place_some", axis=MANY[axis], number=len(indices), first=first, last=last)
