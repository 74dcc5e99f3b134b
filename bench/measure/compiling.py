"""torch.compile as a way of calling: made anew for each thing measured, and never given up in silence."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from bench.records.formats import computed, stored
from bench.records.reason import DeviceRefused

if TYPE_CHECKING:
    from torch import Tensor

_NUMBERS = itertools.count()
LIMIT = 256  # compilations of one function: each shape, format and mode takes one


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or network, compiled at its first call; each shape for itself.

    PyTorch calls the plain function, with a warning, once it has compiled one too often. That would be measured
    as compiled: here it is an error.
    """
    import torch
    import torch._dynamo.config as dynamo

    dynamo.recompile_limit, dynamo.fail_on_recompile_limit_hit = LIMIT, True

    def call(*inputs: Any, **named: Any) -> Any:
        return function(*inputs, **named)

    # PyTorch keeps what it compiled by code, and counts by it: with code of its own, what is compiled for one variant
    # neither counts against the limit of another nor can be taken for it
    call.__code__ = call.__code__.replace(co_name=f"compiled_{next(_NUMBERS)}")
    return torch.compile(call, dynamic=False)


@contextmanager
def surely_compiled(wanted: bool) -> Iterator[None]:
    """The body makes first calls. RuntimeError where PyTorch compiled nothing of them, and said nothing."""
    before = _graphs() if wanted else 0
    yield
    if wanted and _graphs() == before:
        raise DeviceRefused("not_compiled")


def _graphs() -> int:
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def forget_compiled() -> None:
    """What was compiled for one thing measured is of no use to the next."""
    if "torch._dynamo" in sys.modules:  # seconds to import, so not where nothing was compiled
        import torch

        torch.compiler.reset()


def answer(call: Callable[[Tensor], Tensor], x: Tensor, device: str, dtype: str) -> Tensor:
    """What ``call`` answers to ``x``, computed as ``dtype`` says, in float32 at least: a loss needs the digits."""
    with autocast(device, dtype):
        out = call(x)
    return out if out.dtype.itemsize >= 4 else out.float()


def autocast(device: str, dtype: str) -> AbstractContextManager[Any]:
    """Within it products are computed as ``dtype`` says. RuntimeError where PyTorch can't on this device."""
    import torch

    if stored(dtype) == dtype:
        return nullcontext()
    context = torch.autocast(device, getattr(torch, computed(dtype)))
    if not context._enabled:  # it only warns, and computes in float32
        raise DeviceRefused("no_autocast", dtype=computed(dtype), device=device)
    return context
