"""Work that has come out wrong on MPS in some version, silently: small enough to try, each with its exact answer.

A recipe is given ``draw``, a function that makes a tensor of random numbers of this shape, and returns the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    Draw = Callable[..., torch.Tensor]  # the shape, one whole number a dimension
    Recipe = Callable[[Draw], torch.Tensor]

WIDE, MANY_ROWS = 40_000, 70_000  # beyond 32 767 columns and 65 535 rows results have been wrong (pytorch#96225)


def off_by(make: Recipe, device: torch.device) -> float:
    """The largest error of float32 on the device against float64 on the CPU, of the largest exact value."""
    import torch

    def drawn(dtype: torch.dtype, where: torch.device | str) -> Draw:
        generator = torch.Generator().manual_seed(0)  # the same numbers twice
        return lambda *shape: torch.rand(*shape, generator=generator).to(where, dtype)

    exact = make(drawn(torch.float64, "cpu"))
    got = make(drawn(torch.float32, device)).cpu().double()
    return ((got - exact).abs().max() / exact.abs().max().clamp_min(1e-12)).item()


def _into_a_view(draw: Draw) -> torch.Tensor:
    out = draw(64, 64).t()  # not contiguous: what was written into such a tensor has been lost
    out.mul_(0).addmm_(draw(64, 64), draw(64, 64))
    return out


def _many_rows(draw: Draw) -> torch.Tensor:
    return draw(MANY_ROWS, 8) @ draw(8, 8)


def _wide_rows(draw: Draw) -> torch.Tensor:
    return draw(4, 16) @ draw(16, WIDE)


def _long_sums(draw: Draw) -> torch.Tensor:
    return draw(64, WIDE).sum(1)


def _strided_copy(draw: Draw) -> torch.Tensor:
    a = draw(128, 128)
    a[::2, ::3] = draw(64, 43)
    return a


def _causal_attention(draw: Draw) -> torch.Tensor:
    import torch

    query, key, value = (draw(1, 2, 300, 64) for _ in range(3))
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def _convolution_gradient(draw: Draw) -> torch.Tensor:
    import torch

    image, weight = draw(2, 3, 33, 33).requires_grad_(), draw(8, 3, 3, 3)
    out = torch.nn.functional.conv2d(image.transpose(2, 3), weight, stride=2)
    return torch.autograd.grad(out.square().sum(), image)[0]


DOUBTFUL: Mapping[str, Recipe] = {  # by kind of reason
    "into_a_view": _into_a_view,
    "many_rows": _many_rows,
    "wide_rows": _wide_rows,
    "long_sums": _long_sums,
    "strided_copy": _strided_copy,
    "causal_attention": _causal_attention,
    "convolution_gradient": _convolution_gradient,
}
