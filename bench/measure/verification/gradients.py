"""Loss and gradients of one training step, and how far one set of them is from another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench.measure.compiling import answer
from bench.records.formats import stored
from bench.records.reason import Reason, because
from bench.workloads.contract import Network

if TYPE_CHECKING:
    from torch import Tensor, nn

    Lines = dict[tuple[str, "Axis"], tuple[float, int]]  # by gradient and axis: the largest error, and its line

Axis = Literal["row", "column"]
DIMENSIONS: Mapping[Axis, int] = {"row": 0, "column": -1}
NEARBY = 3  # sets of weights beside the given ones
STEP = 4.0  # how far beside: relative, in units of the format's roundoff


@dataclass(frozen=True)
class Gradients:
    """In float64, whatever they were computed in."""

    loss: Tensor
    gradients: dict[str, Tensor]

    @property
    def finite(self) -> bool:
        return all(bool(one.isfinite().all()) for one in (self.loss, *self.gradients.values()))

    @property
    def norm(self) -> float:
        """Of all gradients together."""
        return math.hypot(*(gradient.norm().item() for gradient in self.gradients.values()))


def reference(network: Network, state: Mapping[str, Tensor], x: Tensor, y: Tensor, dtype: str) -> Gradients:
    """Computed on the CPU in ``dtype``."""
    import torch

    kind = getattr(torch, stored(dtype))
    net = network.make().to(kind).train()
    net.load_state_dict(state)
    loss = torch.nn.functional.cross_entropy(answer(net, x.to(kind), "cpu", dtype), y)
    loss.backward()
    return Gradients(loss.detach().double(), gradients_of(net))


def gradients_of(net: nn.Module) -> dict[str, Tensor]:
    """By name, on the CPU, in float64."""
    return {name: p.grad.cpu().double() for name, p in net.named_parameters() if p.grad is not None}


def along_and_across(got: Gradients, exact: Gradients, unit: float) -> dict[tuple[Reason, str], float]:
    """Relative errors of the loss and of each gradient, "along" the right one and "across" it.

    A gradient that is nothing beside all of them (of a bias before batch normalisation) is rounding alone; ``unit`` is
    the roundoff of what is computed in.
    """
    tiny = 1e-300
    errors = {(because("loss"), "along"): ((got.loss - exact.loss).abs() / exact.loss.abs().clamp_min(tiny)).item()}
    total = exact.norm
    for name, right in exact.gradients.items():
        wrong = got.gradients[name] - right
        size = right.norm().item() + max(1e-3, 4 * unit) * total + tiny
        errors[because("gradient_of", name=name), "along"] = abs((wrong * (right / size)).sum().item()) / size
        errors[because("gradient_of", name=name), "across"] = wrong.norm().item() / size
    return errors


def lines_off(got: Gradients, exact: Gradients, unit: float) -> Lines:
    """Of each gradient the row, and the column, that is farthest off, relative to it or to the usual one if larger."""
    found: Lines = {}
    total = exact.norm
    for name, right in exact.gradients.items():
        for axis, dimension in DIMENSIONS.items():
            if right.dim() < 2 and axis != "row":
                continue
            wrong, whole = (
                one.movedim(dimension, 0).flatten(1).norm(dim=1) if one.dim() > 1 else one.abs()
                for one in (got.gradients[name] - right, right)
            )
            usual = (right.norm().item() + max(1e-3, 4 * unit) * total) / math.sqrt(max(len(whole), 1)) + 1e-300
            errors = wrong / whole.clamp_min(usual)
            worst = int(errors.nan_to_num(math.inf).argmax().item())
            found[name, axis] = errors[worst].item(), worst
    return found


def touchy_lines(
    network: Network, state: Mapping[str, Tensor], x: Tensor, y: Tensor, dtype: str, exact: Gradients, unit: float
) -> dict[tuple[str, Axis], float]:
    """How far lines are off in ``dtype`` on weights that differ by rounding: what is at a kink there is so anywhere."""
    import torch

    found: dict[tuple[str, Axis], float] = {}
    source = torch.Generator().manual_seed(0)
    for _ in range(NEARBY):
        beside = {
            name: one * (1 + STEP * unit * torch.randn(one.shape, generator=source)).to(one.dtype)
            if one.is_floating_point()
            else one
            for name, one in state.items()
        }
        for kind in ("float64", dtype):
            off = lines_off(reference(network, beside, x, y, kind), exact, unit)
            found = {key: max(error, found.get(key, 0.0)) for key, (error, _) in off.items()}
    return found
