"""Single elements of right answers by NumPy's elementary steps: they show whether the judge itself can be believed.

Each takes the index of an element and the inputs as float64 arrays, or what of them the element needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-5  # of layer normalisation, as PyTorch has it


def product(index: Sequence[int], a: Tensor, b: Tensor) -> float:
    """Of A B, of several, or of a matrix by a vector."""
    if b.dim() == 1:
        return float((_numbers(a[index[0]]) * _numbers(b)).sum())
    for at in index[:-2]:
        a, b = a[at], b[at]
    return float((_numbers(a[index[-2]]) * _numbers(b[:, index[-1]])).sum())


def elementwise(index: Sequence[int], a: Tensor, b: Tensor, c: Tensor) -> float:
    one, two, three = (_numbers(tensor[tuple(index)]) for tensor in (a, b, c))
    return float(one * two + three)


def row_sum(index: Sequence[int], a: Tensor) -> float:
    return math.fsum(_numbers(a[index[0]]))


def softmax(index: Sequence[int], a: Tensor) -> float:
    powers = np.exp(_numbers(a[index[0]]) - float(_numbers(a[tuple(index)])))
    return float(1 / powers.sum())


def layernorm(index: Sequence[int], a: Tensor, weight: Tensor, bias: Tensor) -> float:
    row = _numbers(a[index[0]])
    scaled = (row[index[1]] - row.mean()) / math.sqrt(row.var() + EPSILON)
    return float(scaled * _numbers(weight[index[1]]) + _numbers(bias[index[1]]))


def convolution(index: Sequence[int], image: Tensor, weight: Tensor) -> float:
    _, channel, y, x = index
    around = np.pad(_numbers(image[0, :, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2]), _edges(image, y, x))
    return float((around * _numbers(weight[channel])).sum())


def attention(index: Sequence[int], q: Tensor, k: Tensor, v: Tensor) -> float:
    one, head, row, column = index
    query, keys = _numbers(q[one, head, row]), _numbers(k[one, head])
    weights = np.exp((keys * query).sum(1) / math.sqrt(len(query)))
    return float((weights * _numbers(v[one, head, :, column])).sum() / weights.sum())


def _edges(image: Tensor, y: int, x: int) -> tuple[tuple[int, int], ...]:
    """How many zeros are around what is left of the points around a point."""
    _, _, height, width = image.shape
    return (0, 0), (int(y == 0), int(y == height - 1)), (int(x == 0), int(x == width - 1))


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.double().numpy()
