"""Single tensor operations. A new one is a row of this table: sidebar, charts, files and tests follow by themselves.

FLOP are counted as usual: a multiplication and an addition are two; an exponential, a division or a comparison one.
Bytes are the least traffic: every input read once, every output written once, ``width`` bytes a number.
A step is a function that ``build`` looks up, never one that imports or looks up something while it is timed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bench.records.cost import Cost
from bench.workloads import references, witnesses
from bench.workloads.contract import Mixture, Operation, Truth, by_name
from bench.workloads.references import convolution, product

if TYPE_CHECKING:  # torch itself comes later, in the thread that measures
    from torch import Tensor

HEADS, HEAD_DIM, BATCH, VECTOR, VOCABULARY, INDEX = 8, 64, 16, 256, 4096, 8  # of what has a second dimension


def torch_function(name: str) -> Callable[..., Any]:
    """``torch.dot`` for "dot", ``torch.nn.functional.pad`` for "nn.functional.pad". Imports torch: for ``build``."""
    import torch

    return operator.attrgetter(name)(torch)


def _layer_norm() -> Callable[..., Tensor]:
    layer_norm = torch_function("nn.functional.layer_norm")
    return lambda a, weight, bias: layer_norm(a, weight.shape, weight, bias)


def _conv2d() -> Callable[..., Tensor]:
    """With zeros around the image."""
    conv2d = torch_function("nn.functional.conv2d")
    return lambda image, weight: conv2d(image, weight, padding=1)


PRODUCT = (  # sums of columns, row by row, and sums of rows, column by column
    Mixture(-2, -1, lambda mix, a, b: (a, mix(b, -1)), product),
    Mixture(-1, -2, lambda mix, a, b: (mix(a, -2), b), references.product_columns),
)
CONVOLUTION = (Mixture(2, 1, lambda mix, image, weight: (image, mix(weight, 0)), convolution),)  # of channels

OPERATIONS: Mapping[str, Operation] = by_name(
    (
        Operation(
            "matvec",  # the article's first experiment
            title="Matrix × vector",
            formula="B a, where B has m × m numbers and a has m",
            build=lambda draw, m: (operator.matmul, (draw(m, m), draw(m))),
            truth=Truth(product, terms=lambda m: m, witness=witnesses.product),
            cost=lambda m, width: Cost(2 * m * m, width * (m * m + 2 * m)),
        ),
        Operation(
            "matmul",
            title="Matrix × matrix",
            formula="A B, where both have m × m numbers",
            build=lambda draw, m: (operator.matmul, (draw(m, m), draw(m, m))),
            truth=Truth(product, terms=lambda m: m, witness=witnesses.product, along=-2, mixtures=PRODUCT),
            cost=lambda m, width: Cost(2 * m**3, width * 3 * m * m),
        ),
        Operation(
            "bmm",
            title="Batched matrix × matrix",
            formula=f"{BATCH} products A B at once, where each matrix has m × m numbers",
            build=lambda draw, m: (operator.matmul, (draw(BATCH, m, m), draw(BATCH, m, m))),
            truth=Truth(product, terms=lambda m: m, witness=witnesses.product, along=-2, mixtures=PRODUCT),
            cost=lambda m, width: Cost(BATCH * 2 * m**3, BATCH * width * 3 * m * m),
        ),
        Operation(
            "elementwise",  # one fused call
            title="Elementwise a × b + c",
            formula="a × b + c, number by number, where each has m × m numbers",
            build=lambda draw, m: (lambda a, b, c: c.addcmul(a, b), (draw(m, m), draw(m, m), draw(m, m))),
            truth=Truth(references.elementwise, "elementwise", terms=lambda m: 2, witness=witnesses.elementwise),
            cost=lambda m, width: Cost(2 * m * m, width * 4 * m * m),
        ),
        Operation(
            "sum",
            title="Sum of each row",
            formula="the sum of each row of m × m numbers",
            build=lambda draw, m: (lambda a: a.sum(1), (draw(m, m),)),
            truth=Truth(references.row_sums, terms=lambda m: m, witness=witnesses.row_sum),
            cost=lambda m, width: Cost(m * m, width * (m * m + m)),
        ),
        Operation(
            "softmax",  # of a row: largest, difference, exponential, sum and quotient
            title="Softmax",
            formula="the softmax of each row of m × m numbers",
            build=lambda draw, m: (lambda a: a.softmax(1), (draw(m, m),)),
            truth=Truth(references.softmax, "softmax", lambda m: m, references.itself, witness=witnesses.softmax),
            cost=lambda m, width: Cost(5 * m * m, width * 2 * m * m),
        ),
        Operation(
            "layernorm",
            title="Layer normalisation",
            formula="each row of m × m numbers less its mean, over its deviation, scaled and shifted",
            build=lambda draw, m: (_layer_norm(), (draw(m, m), draw(m), draw(m))),
            truth=Truth(
                references.layernorm,
                "layernorm",
                lambda m: m,
                references.layernorm_magnitude,
                witness=witnesses.layernorm,
            ),
            cost=lambda m, width: Cost(8 * m * m, width * (2 * m * m + 2 * m)),
        ),
        Operation(
            "conv2d",
            title="Convolution",
            formula="a 3 × 3 convolution of an image of m × m points from 3 channels to 16",
            build=lambda draw, m: (_conv2d(), (draw(1, 3, m, m), draw(16, 3, 3, 3))),
            truth=Truth(convolution, terms=lambda m: 27, along=2, mixtures=CONVOLUTION, witness=witnesses.convolution),
            cost=lambda m, width: Cost(2 * 9 * 3 * 16 * m * m, width * (19 * m * m + 9 * 3 * 16)),
            images=True,
        ),
        Operation(
            "attention",  # without a mask
            title="Attention",
            formula=f"scaled dot-product attention over m positions, {HEADS} heads of {HEAD_DIM}",
            build=lambda draw, m: (
                torch_function("nn.functional.scaled_dot_product_attention"),
                tuple(draw(1, HEADS, m, HEAD_DIM) for _ in range(3)),
            ),
            truth=Truth(
                references.attention,
                "attention",
                lambda m: m + HEAD_DIM,
                references.attention_magnitude,
                along=2,
                axes=("image", "head", "row", "column"),
                estimate=references.attention_estimate,
                witness=witnesses.attention,
            ),
            cost=lambda m, width: Cost(HEADS * (4 * HEAD_DIM + 5) * m * m, width * 4 * HEADS * m * HEAD_DIM),
            memory=lambda m, width: width * (4 * HEADS * m * HEAD_DIM + HEADS * m * m),  # if the kernel keeps weights
        ),
        Operation(
            "embedding",
            title="Embedding (gather)",
            formula=f"m rows of {VECTOR} numbers, taken from a table of {VOCABULARY} in random order",
            build=lambda draw, m: (
                torch_function("nn.functional.embedding"),
                ((draw(m) * VOCABULARY).long(), draw(VOCABULARY, VECTOR)),
            ),
            truth=Truth(references.gathered, "none"),
            cost=lambda m, width: Cost(0, m * (INDEX + 2 * width * VECTOR)),
            memory=lambda m, width: width * VECTOR * (VOCABULARY + m) + INDEX * m,
        ),
        Operation(
            "sort",  # FLOP are comparisons, m log m a row
            title="Sort",
            formula="each row of m × m numbers in ascending order",
            build=lambda draw, m: (lambda a: a.sort(1).values, (draw(m, m),)),
            truth=Truth(references.ascending, "none"),
            cost=lambda m, width: Cost(m * m * max(1, math.ceil(math.log2(m))), width * 2 * m * m),
            memory=lambda m, width: (2 * width + 2 * INDEX) * m * m,
        ),
        Operation(
            "topk",  # in descending order; FLOP are comparisons, one a number
            title="Top 10",
            formula="the ten largest numbers of each row of m × m",
            build=lambda draw, m: (lambda a: a.topk(10, 1).values, (draw(m, m),)),
            truth=Truth(references.largest, "none"),
            cost=lambda m, width: Cost(m * m, width * m * (m + 10)),
            memory=lambda m, width: width * m * m + 10 * (width + INDEX) * m,
        ),
        Operation(
            "upload",  # blocking; on the CPU from memory to memory
            title="Copy to the device",
            formula="a copy of m × m numbers from main memory to the device",
            build=lambda draw, m: (lambda a, device="cpu": a.to(device, copy=True), (draw(m, m),)),
            truth=Truth(references.the_same, "none"),
            cost=lambda m, width: Cost(0, width * 2 * m * m),
            inputs_on="host",
        ),
        Operation(
            "download",  # blocking; on the CPU from memory to memory
            title="Copy from the device",
            formula="a copy of m × m numbers from the device to main memory",
            build=lambda draw, m: (lambda a: a.to("cpu", copy=True), (draw(m, m),)),
            truth=Truth(references.the_same, "none"),
            cost=lambda m, width: Cost(0, width * 2 * m * m),
        ),
    )
)
