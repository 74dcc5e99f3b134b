"""Inputs. Drawn once on the CPU from a seed, then copied, so that every device gets the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from bench.workloads.contract import Draw


def draw_from(seed: int) -> Draw:
    """``draw(*shape)``: float32 numbers, uniform in [0, 1), on the CPU; the seed decides which."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator)

    return draw
