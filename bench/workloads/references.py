"""What the operations should give: written out in float64 by elementary steps, never by the call that is timed.

Each takes ``rows``, a slice of one dimension of the answer, and the inputs as they are timed, so that no copy of
everything in float64 is made; small inputs may come as float64 already. All give float64 (exact ones: any format).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # torch itself comes later, in the thread that measures
    from torch import Tensor

EPSILON = 1e-5  # of layer normalisation, as PyTorch has it
TOP = 10


def product(rows: slice, a: Tensor, b: Tensor) -> Tensor:
    """Rows of A B, or of a matrix by a vector."""
    return a[..., rows, :].double() @ b.double()


def product_columns(columns: slice, a: Tensor, b: Tensor) -> Tensor:
    """Columns of A B."""
    return a.double() @ b[..., columns].double()


def elementwise(rows: slice, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return c[rows].double().addcmul(a[rows].double(), b[rows].double())


def row_sums(rows: slice, a: Tensor) -> Tensor:
    return a[rows].double().sum(1)


def softmax(rows: slice, a: Tensor) -> Tensor:
    a = a[rows].double()
    a = (a - a.amax(1, keepdim=True)).exp_()
    return a.div_(a.sum(1, keepdim=True))


def layernorm(rows: slice, a: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    a = a[rows].double()
    a = a - a.mean(1, keepdim=True)
    deviation = (a.square().mean(1, keepdim=True) + EPSILON).sqrt_()
    return a.div_(deviation).mul_(weight.double()).add_(bias.double())


def layernorm_magnitude(exact: Tensor, rows: slice, a: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Of what is subtracted and added: the difference itself may be nothing beside its rounding."""
    a = a[rows].double()
    mean = a.mean(1, keepdim=True)
    deviation = ((a - mean).square_().mean(1, keepdim=True) + EPSILON).sqrt_()
    return a.abs().add_(mean.abs()).div_(deviation).mul_(weight.double().abs()).add_(bias.double().abs())


def convolution(rows: slice, image: Tensor, weight: Tensor) -> Tensor:
    """Rows of a 3 × 3 convolution with zeros around the image: weights × the points around each point."""
    _, channels, height, width = image.shape
    first, last = max(0, rows.start - 1), min(height, rows.stop + 1)
    some = rows.stop - rows.start
    kernel = weight.double()
    around = kernel.new_zeros((channels, some + 2, width + 2))
    at = first - (rows.start - 1)
    around[:, at : at + last - first, 1:-1] = image[0, :, first:last]
    plane, line = around.stride()[:2]
    beside = around.as_strided((channels, 3, some + 2, width), (plane, 1, line, 1)).reshape(channels * 3, -1)
    out = kernel.new_zeros((len(kernel), some * width))
    for y in range(3):  # the rows above, here and below
        out.addmm_(kernel[:, :, y].reshape(len(kernel), -1), beside[:, y * width : (y + some) * width])
    return out.view(1, len(kernel), some, width)


def attention(rows: slice, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q[..., rows, :].double() / math.sqrt(q.shape[-1])) @ k.double().transpose(-1, -2)
    weights = scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    return (weights @ v.double()).div_(weights.sum(-1, keepdim=True))


def attention_magnitude(exact: Tensor, rows: slice, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return exact if bool((v >= 0).all()) else attention(rows, q, k, v.abs())


def attention_estimate(rows: slice, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention to first order in the scores, by two small products: the mean of the values, and their covariance."""
    q, k, v = q[..., rows, :].double(), k.double(), v.double()
    mean = v.mean(-2, keepdim=True)
    slope = (k - k.mean(-2, keepdim=True)).transpose(-1, -2) @ (v - mean)
    return mean + q @ slope / (k.shape[-2] * math.sqrt(q.shape[-1]))


def gathered(rows: slice, index: Tensor, table: Tensor) -> Tensor:
    return table[index[rows]]


def ascending(rows: slice, a: Tensor) -> Tensor:
    """By NumPy: PyTorch's own sort is what is timed. bfloat16 is unknown there, float32 holds it."""
    import torch

    return torch.from_numpy(np.sort(_known(a[rows]).numpy(), 1))


def largest(rows: slice, a: Tensor) -> Tensor:
    """The TOP largest numbers of each row, the largest first."""
    import torch

    top = np.partition(_known(a[rows]).numpy(), a.shape[1] - TOP, 1)[:, -TOP:]
    return torch.from_numpy(np.sort(top, 1)[:, ::-1].copy())


def the_same(rows: slice, a: Tensor) -> Tensor:
    return a[rows]


def itself(exact: Tensor, *_: object) -> Tensor:
    """The magnitude of what can't cancel."""
    return exact


def _known(a: Tensor) -> Tensor:
    return a.float() if a.element_size() < 4 else a
