"""Single tensor operations. A new one is a few lines: sidebar, charts, files and tests follow by themselves."""

import operator

from bench.registry import Cost, operation

FLOAT32 = 4  # bytes


@operation(
    "matvec",
    title="Matrix × vector",
    formula="B a, where B has m × m numbers and a has m",
    axis="m",
    cost=lambda m: Cost(flops=2 * m * m, bytes_moved=FLOAT32 * (m * m + 2 * m)),
    terms=lambda m: m,
    picked_axes=1,
    part=lambda picked, b, a: (b[picked[0]], a),
)
def matvec(draw, m):
    """y = B a with B of shape (m, m) and a of shape (m,), float32: the article's first experiment."""
    return operator.matmul, (draw(m, m), draw(m))


@operation(
    "matmul",
    title="Matrix × matrix",
    formula="A B, where both have m × m numbers",
    axis="m",
    cost=lambda m: Cost(flops=2 * m**3, bytes_moved=FLOAT32 * 3 * m * m),
    terms=lambda m: m,
    picked_axes=2,
    part=lambda picked, a, b: (a[picked[0]], b[:, picked[1]]),
)
def matmul(draw, m):
    """C = A B, all of shape (m, m), float32."""
    return operator.matmul, (draw(m, m), draw(m, m))
