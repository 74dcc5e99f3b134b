"""Faults put into right answers, for tests and for the table of what is caught (``performance/verification.py``)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from bench.measure.verification.judge import Judge
from bench.records.formats import stored
from bench.records.measurement import RIGHT, Check
from bench.workloads.inputs import draw_from
from bench.workloads.operations import OPERATIONS

DTYPES = ("float32", "float16", "bfloat16", "float64")
SLIGHTLY = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 3.2e-2, "float64": 1e-11}  # above the format's own error
LINES, TILE = 10, 32


def case(name: str, size: int, dtype: str, seed: int) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """An operation's function and its inputs in the format."""
    function, inputs = OPERATIONS[name].build(draw_from(seed), size)
    kind = getattr(torch, stored(dtype))
    return function, [one.to(kind) if one.is_floating_point() else one for one in inputs]


def faults(name: str, dtype: str) -> dict[str, Callable[[Tensor, random.Random], Tensor]]:
    """By name: what each makes of a right answer (it gets a copy)."""

    def part(change: Callable[[Tensor], object], choose: Callable[[Tensor, random.Random], Tensor]) -> Callable:
        def spoil(out: Tensor, rng: random.Random) -> Tensor:
            change(choose(out, rng))
            return out

        return spoil

    def slightly(choose: Callable[[Tensor, random.Random], Tensor]) -> Callable:
        """A factor; what is nearly nothing beside the others is changed by as much as a tenth of these would be."""

        def spoil(out: Tensor, rng: random.Random) -> Tensor:
            some, least = choose(out, rng), 0.1 * out.double().abs().mean().item() * SLIGHTLY[dtype]
            added = (some.double() * SLIGHTLY[dtype]).abs().clamp_min(least)
            some.copy_(some.double() + torch.where(some < 0, -added, added))
            return out

        return spoil

    found = {f"{what}, slightly": slightly(choose) for what, choose in PLACES.items()}
    found |= {f"{what}, zeros": part(torch.Tensor.zero_, choose) for what, choose in PLACES.items()}
    found |= {
        "element, nan": part(lambda some: some.fill_(math.nan), PLACES["element"]),
        "element, infinite": part(lambda some: some.fill_(math.inf), PLACES["element"]),
        "band, nan": part(lambda some: some.fill_(math.nan), PLACES["band"]),
        "sign": lambda out, rng: -out,
        "zeros": lambda out, rng: out * 0,
        "an uncomputed buffer": lambda out, rng: torch.randn(out.shape, dtype=torch.float64).to(out.dtype),
        "rows in another order": lambda out, rng: out.roll(1, lines(name)),
    }
    if dtype in ("float32", "float64") or dtype == "float16":
        found |= {"scale 1.001": lambda out, rng: out * 1.001, "scale 0.999": lambda out, rng: out * 0.999}
    if name in ("matmul", "bmm", "elementwise", "softmax", "layernorm", "sort", "upload", "download"):
        found["transposed"] = lambda out, rng: out.transpose(-1, -2).contiguous()
    return found


def lines(name: str) -> int:
    return OPERATIONS[name].truth.along


def _element(out: Tensor, rng: random.Random) -> Tensor:
    return out.view(-1)[(at := rng.randrange(out.numel())) : at + 1]


def _rows(out: Tensor) -> Tensor:
    return out if out.dim() < 3 else out.movedim(-2, 0)


def _line(out: Tensor, rng: random.Random) -> Tensor:
    return _rows(out)[rng.randrange(_rows(out).shape[0])]


def _tile(out: Tensor, rng: random.Random) -> Tensor:
    if out.dim() == 1:
        first = rng.randrange(out.shape[0])
        return out[first : first + TILE]
    row, column = (rng.randrange(max(1, n - TILE + 1)) for n in out.shape[-2:])
    return out[(0,) * (out.dim() - 2)][row : row + TILE, column : column + TILE]


def _band(out: Tensor, rng: random.Random) -> Tensor:
    first = rng.randrange(max(1, _rows(out).shape[0] - LINES))
    return _rows(out)[first : first + LINES]


PLACES: dict[str, Callable[[Tensor, random.Random], Tensor]] = {
    "element": _element,
    "row": _line,
    "column": lambda out, rng: out[..., rng.randrange(out.shape[-1])],
    "tile": _tile,
    "band": _band,
    "last row": lambda out, rng: _rows(out)[-1],
    "last column": lambda out, rng: out[..., -1],
    "every 7th row": lambda out, rng: _rows(out)[::7],
}


def injected(name: str, size: int, dtype: str, seed: int) -> Iterator[tuple[str, Check, Tensor]]:
    """Each fault by name, with the check of it; a fault that changes nothing is left out."""
    function, inputs = case(name, size, dtype, seed)
    judge = Judge(OPERATIONS[name], size, inputs, dtype)
    right, rng = function(*inputs), random.Random(seed)
    yield "honest", judge.compare(right), right
    made = faults(name, dtype)
    made["answer to other inputs"] = lambda out, rng: function(*case(name, size, dtype, seed + 1000)[1])
    for fault, spoil in made.items():
        out = spoil(right.clone(), rng)
        if not torch.equal(out, right):
            yield fault, judge.compare(out), out


def caught(check: Check) -> bool:
    return check.verdict != RIGHT
