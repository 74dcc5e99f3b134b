"""Single tensor operations. A new one is a few lines: sidebar, charts, files and tests follow by themselves.

FLOP are counted as usual: a multiplication and an addition are two; an exponential, a division or a comparison one.
Bytes are the least traffic: every input read once, every output written once, ``width`` bytes a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.workloads.contract import Operation, _add

if TYPE_CHECKING:  # torch itself comes later, in the thread that measures
    pass
import math
import operator

from bench.records.cost import Cost

OPERATIONS: dict[str, Operation] = {}


def operation(name: str, **contract):
    """Register the decorated ``build(draw, size) -> (function, inputs)`` under ``name``.

    ``function(*inputs)`` is the step; ``contract`` are the other fields of Operation. ValueError if the name is taken.
    """

    def register(build):
        _add(OPERATIONS, Operation(name, build=build, **contract))
        return build

    return register


HEADS, HEAD_DIM, BATCH, VECTOR, VOCABULARY, INDEX = 8, 64, 16, 256, 4096, 8  # of what has a second dimension


def rows(pick, *tensors):
    """The picked rows of each: enough for what works row by row."""
    return tuple(tensor[pick[0]] for tensor in tensors)


@operation(
    "matvec",
    title="Matrix × vector",
    formula="B a, where B has m × m numbers and a has m",
    cost=lambda m, width: Cost(2 * m * m, width * (m * m + 2 * m)),
    terms=lambda m: m,
    picked=(0,),
    part=lambda pick, b, a: (b[pick[0]], a),
)
def matvec(draw, m):
    """y = B a with B of shape (m, m) and a of shape (m,): the article's first experiment."""
    return operator.matmul, (draw(m, m), draw(m))


@operation(
    "matmul",
    title="Matrix × matrix",
    formula="A B, where both have m × m numbers",
    cost=lambda m, width: Cost(2 * m**3, width * 3 * m * m),
    terms=lambda m: m,
    picked=(0, 1),
    part=lambda pick, a, b: (a[pick[0]], b[:, pick[1]]),
)
def matmul(draw, m):
    """C = A B, all of shape (m, m)."""
    return operator.matmul, (draw(m, m), draw(m, m))


@operation(
    "bmm",
    title="Batched matrix × matrix",
    formula=f"{BATCH} products A B at once, where each matrix has m × m numbers",
    cost=lambda m, width: Cost(BATCH * 2 * m**3, BATCH * width * 3 * m * m),
    terms=lambda m: m,
    picked=(1, 2),
    part=lambda pick, a, b: (a[:, pick[0]], b[:, :, pick[1]]),
)
def bmm(draw, m):
    """C = A B, all of shape (16, m, m)."""
    return operator.matmul, (draw(BATCH, m, m), draw(BATCH, m, m))


@operation(
    "elementwise",
    title="Elementwise a × b + c",
    formula="a × b + c, number by number, where each has m × m numbers",
    cost=lambda m, width: Cost(2 * m * m, width * 4 * m * m),
    terms=lambda m: 2,
    picked=(0,),
    part=rows,
)
def elementwise(draw, m):
    """a × b + c as one fused call, all of shape (m, m)."""
    import torch

    return (lambda a, b, c: torch.addcmul(c, a, b)), (draw(m, m), draw(m, m), draw(m, m))


@operation(
    "sum",
    title="Sum of each row",
    formula="the sum of each row of m × m numbers",
    cost=lambda m, width: Cost(m * m, width * (m * m + m)),
    terms=lambda m: m,
    picked=(0,),
    part=rows,
)
def row_sum(draw, m):
    """A reduction of (m, m) to (m,)."""
    import torch

    return (lambda a: torch.sum(a, 1)), (draw(m, m),)


@operation(
    "softmax",
    title="Softmax",
    formula="the softmax of each row of m × m numbers",
    cost=lambda m, width: Cost(5 * m * m, width * 2 * m * m),
    terms=lambda m: m,
    scale="largest",
    picked=(0,),
    part=rows,
)
def softmax(draw, m):
    """Of each row of (m, m): largest, difference, exponential, sum and quotient."""
    import torch

    return (lambda a: torch.softmax(a, 1)), (draw(m, m),)


@operation(
    "layernorm",
    title="Layer normalisation",
    formula="each row of m × m numbers less its mean, over its deviation, scaled and shifted",
    cost=lambda m, width: Cost(8 * m * m, width * (2 * m * m + 2 * m)),
    terms=lambda m: m,
    scale="largest",
    picked=(0,),
    part=lambda pick, a, weight, bias: (a[pick[0]], weight, bias),
)
def layernorm(draw, m):
    """Of each row of (m, m), with a weight and a bias of (m,)."""
    from torch.nn.functional import layer_norm

    return (lambda a, weight, bias: layer_norm(a, weight.shape, weight, bias)), (draw(m, m), draw(m), draw(m))


@operation(
    "conv2d",
    title="Convolution",
    formula="a 3 × 3 convolution of an image of m × m points from 3 channels to 16",
    cost=lambda m, width: Cost(2 * 9 * 3 * 16 * m * m, width * (19 * m * m + 9 * 3 * 16)),
    terms=lambda m: 27,
    picked=(2,),
    choice=lambda pick, image, weight: _convolved_rows(pick[0], image, weight),
    images=True,
)
def conv2d(draw, m):
    """One image of (3, m, m) to (16, m, m), with zeros around it."""
    from torch.nn.functional import conv2d

    return (lambda image, weight: conv2d(image, weight, padding=1)), (draw(1, 3, m, m), draw(16, 3, 3, 3))


def _convolved_rows(rows, image, weight):
    """Rows of the answer alone: each from the three rows of the image around it."""
    import torch
    from torch.nn.functional import conv2d, pad

    around = pad(image[0], (1, 1, 1, 1))[:, torch.tensor(rows)[:, None] + torch.arange(3)]
    return conv2d(around.transpose(0, 1), weight)[:, :, 0].transpose(0, 1)[None]


@operation(
    "attention",
    title="Attention",
    formula=f"scaled dot-product attention over m positions, {HEADS} heads of {HEAD_DIM}",
    cost=lambda m, width: Cost(HEADS * (4 * HEAD_DIM + 5) * m * m, width * 4 * HEADS * m * HEAD_DIM),
    memory=lambda m, width: width * (4 * HEADS * m * HEAD_DIM + HEADS * m * m),  # if the kernel keeps the weights
    terms=lambda m: m + HEAD_DIM,
    scale="largest",
    picked=(2,),
    part=lambda pick, q, k, v: (q[:, :, pick[0]], k, v),
)
def attention(draw, m):
    """Queries, keys and values of shape (1, 8, m, 64), without a mask."""
    from torch.nn.functional import scaled_dot_product_attention

    shape = (1, HEADS, m, HEAD_DIM)
    return (lambda q, k, v: scaled_dot_product_attention(q, k, v)), (draw(*shape), draw(*shape), draw(*shape))


@operation(
    "embedding",
    title="Embedding (gather)",
    formula=f"m rows of {VECTOR} numbers, taken from a table of {VOCABULARY} in random order",
    cost=lambda m, width: Cost(0, m * (INDEX + 2 * width * VECTOR)),
    memory=lambda m, width: width * VECTOR * (VOCABULARY + m) + INDEX * m,
    picked=(0,),
    part=lambda pick, index, table: (index[pick[0]], table),
)
def embedding(draw, m):
    """Indices of shape (m,) into a table of shape (4096, 256)."""
    from torch.nn.functional import embedding

    return embedding, ((draw(m) * VOCABULARY).long(), draw(VOCABULARY, VECTOR))


@operation(
    "sort",
    title="Sort",
    formula="each row of m × m numbers in ascending order",
    cost=lambda m, width: Cost(m * m * max(1, math.ceil(math.log2(m))), width * 2 * m * m),
    memory=lambda m, width: (2 * width + 2 * INDEX) * m * m,
    picked=(0,),
    part=rows,
)
def sort(draw, m):
    """Of each row of (m, m); FLOP are comparisons, m log m a row."""
    import torch

    return (lambda a: torch.sort(a, 1).values), (draw(m, m),)


@operation(
    "topk",
    title="Top 10",
    formula="the ten largest numbers of each row of m × m",
    cost=lambda m, width: Cost(m * m, width * m * (m + 10)),
    memory=lambda m, width: width * m * m + 10 * (width + INDEX) * m,
    picked=(0,),
    part=rows,
)
def topk(draw, m):
    """Of each row of (m, m), in descending order; FLOP are comparisons, one a number."""
    import torch

    return (lambda a: torch.topk(a, 10, 1).values), (draw(m, m),)


@operation(
    "upload",
    title="Copy to the device",
    formula="a copy of m × m numbers from main memory to the device",
    cost=lambda m, width: Cost(0, width * 2 * m * m),
    inputs_on="host",
    picked=(0,),
    part=rows,
)
def upload(draw, m):
    """A blocking copy of (m, m); on the CPU from memory to memory."""
    return (lambda a, device="cpu": a.to(device, copy=True)), (draw(m, m),)


@operation(
    "download",
    title="Copy from the device",
    formula="a copy of m × m numbers from the device to main memory",
    cost=lambda m, width: Cost(0, width * 2 * m * m),
    picked=(0,),
    part=rows,
)
def download(draw, m):
    """A blocking copy of (m, m); on the CPU from memory to memory."""
    return (lambda a: a.to("cpu", copy=True)), (draw(m, m),)
