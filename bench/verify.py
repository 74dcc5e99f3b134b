"""Does the device compute the right thing? Float64 on the CPU is the judge.

An operation is checked on the very tensors that are timed, before and after: rows (and columns) of its
output, the first, the last and a random choice, against the same rows computed in float64, and the whole
output for numbers that are not finite. The block in which the output will lie is filled with NaN first,
so that what a kernel forgets to write shows. A network is checked by its loss, the gradients of one step
and the weights after it.

Tolerance of an output that sums k products in a format with unit roundoff u: the error is at most about
λ √k u times the sum of the products' magnitudes, with a probability that grows fast with λ (N. Higham and
T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019, theorem 2.4).
λ = 8 here. An error above that but below what rounding the inputs to TF32 (u = 2^-11, two inputs) allows is
*reduced precision*: named, not wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bench.registry import Network, Operation
from bench.results import REDUCED, RIGHT, UNVERIFIED, WRONG, Check
from bench.units import significant

if TYPE_CHECKING:
    from torch import Tensor

    from bench.learner import Learner

UNIT_ROUNDOFF = 2.0**-24  # of float32
REDUCED_ROUNDOFF = 2.0**-11  # of TF32's inputs
LAMBDA = 8.0
PICKED = 24  # rows, and columns
MOST_FLOPS = 2e9  # of the float64 reference: about a second of one slow core
LOSS_LIMIT, GRADIENT_LIMIT, UPDATE_LIMIT = 1e-3, 1e-3, 0.1
SCALE_LIMIT = 5e-3  # of a loss, or of a gradient along itself: rounding averages out there, a wrong factor does not
SCATTER_LIMIT = {"cuda": 5e-2}  # of a gradient across itself: cuDNN's convolutions use TF32 unless told otherwise
REDUCED_LIMIT = 5e-3  # of the same anywhere else, and of answers
FINITE_ON_CPU = 2**24  # elements; a larger output is tested for NaN where it lies, copying would take too long


def pick(length: int) -> list[int]:
    """The first, the last, and a seeded random choice of ``range(length)``; all of it if it is short."""
    import random

    if length <= PICKED:
        return list(range(length))
    return sorted({0, length - 1, *random.Random(length).sample(range(length), PICKED - 2)})


class Judge:
    """Knows the right answer of one operation at one size; the same for every device."""

    def __init__(self, operation: Operation, size: int, function: Callable[..., Tensor], inputs: Sequence[Tensor]):
        self._terms = operation.terms(size) if operation.terms else 1
        self._axes = [pick(size) for _ in range(operation.picked_axes)]
        self._exact = None
        cost = operation.cost(size).flops * math.prod(len(axis) / size for axis in self._axes)
        if cost > MOST_FLOPS:
            return
        part = [tensor.double() for tensor in (operation.part(self._axes, *inputs) if operation.part else inputs)]
        self._exact = function(*part)
        self._scale = function(*(tensor.abs() for tensor in part)) if operation.terms else self._exact.abs().max()

    def check(self, step: Callable[[], Tensor]) -> Check:
        """Let the device compute once more, over memory full of NaN, and compare."""
        import torch

        if self._exact is None:
            return Check(UNVERIFIED, None, None, "Too large to be checked in a reasonable time.")
        shape = step()
        # what the allocator hands out next is one of these, or a piece of several that it has joined
        blocks = [torch.full_like(shape, math.nan) for _ in range(8 if shape.numel() < FINITE_ON_CPU else 1)]
        del shape, blocks
        return self.compare(step())

    def compare(self, out: Tensor) -> Check:
        """How far ``out`` is from the right answer."""
        import torch

        finite = torch.isfinite(out if out.numel() > FINITE_ON_CPU else out.cpu())
        if not bool(finite.all()):
            share = 1 - finite.sum().item() / finite.numel()
            return Check(WRONG, None, self.limit, f"{share:.2%} of its result are not finite numbers.")
        for dimension, axis in enumerate(self._axes):
            out = out.index_select(dimension, torch.tensor(axis, device=out.device))
        error = ((out.cpu().double() - self._exact).abs() / self._scale.clamp_min(1e-300)).max().item()
        if error <= self.limit:
            return Check(RIGHT, error, self.limit)
        if error <= self.limit + 2 * REDUCED_ROUNDOFF:
            return Check(REDUCED, error, self.limit, f"Computed with reduced precision (off by {_part(error)}).")
        return Check(WRONG, error, self.limit, f"Its result differs from the reference by {_part(error)}.")

    @property
    def limit(self) -> float:
        """Largest error, relative to the sum of magnitudes, that float32 explains."""
        return LAMBDA * math.sqrt(self._terms) * UNIT_ROUNDOFF + 2 * UNIT_ROUNDOFF


def check_step(network: Network, learner: Learner, index: Tensor, fresh: bool) -> Check:
    """Let ``learner`` take one training step on the images of ``index``, and compare it with float64.

    Gradients are compared along the right one, where a wrong factor shows, and across it, where rounding
    does. Where the weights moved to is compared only if the optimiser is ``fresh``, since its memory of
    earlier steps is the device's own; that they moved, always. The step changes the learner.
    """
    import torch

    before = {name: tensor.cpu().double() for name, tensor in learner.net.state_dict().items()}
    x, y = (tensor.cpu() for tensor in learner.batch(index))
    reference = network.make().double().train()
    reference.load_state_dict(before)
    loss = torch.nn.functional.cross_entropy(reference(x.double()), y)
    loss.backward()
    got_loss = learner.step(index).cpu().double()
    total = math.sqrt(sum(p.grad.square().sum().item() for p in reference.parameters()))
    errors = [("loss", ((got_loss - loss).abs() / loss.abs()).item(), SCALE_LIMIT)]
    moved = []
    scatter_limit = SCATTER_LIMIT.get(learner.device.name, REDUCED_LIMIT)
    for (name, exact), p in zip(reference.named_parameters(), learner.net.parameters(), strict=True):
        wrong, size = p.grad.cpu().double() - exact.grad, exact.grad.norm().item() + 1e-3 * total
        along = abs((wrong * exact.grad).sum().item()) / size**2
        errors += [
            (f"gradient of {name}", along, SCALE_LIMIT),
            (f"gradient of {name}", wrong.norm().item() / size, scatter_limit),
        ]
        if size > 2e-3 * total:
            moved.append(_move_error(p, before[name], exact.grad, learner.learning_rate, fresh))
    what, error, limit = max(errors, key=lambda e: e[1] / e[2] if math.isfinite(e[1]) else math.inf)
    if not error <= limit:
        return Check(WRONG, _number(error), limit, f"Its {what} differs from the reference by {_part(error)}.")
    if max(moved) > UPDATE_LIMIT:
        return Check(WRONG, max(moved), UPDATE_LIMIT, "Its weights did not move as the optimiser should move them.")
    what, error, _ = max(errors, key=lambda e: e[1])
    if error > GRADIENT_LIMIT:
        text = f"Computed with reduced precision, such as TF32 (its {what} is off by {_part(error)})."
        return Check(REDUCED, error, GRADIENT_LIMIT, text)
    return Check(RIGHT, error, GRADIENT_LIMIT)


def check_answers(network: Network, learner: Learner, index: Tensor) -> Check:
    """Compare the answers of inference with float64, relative to the largest of them."""
    reference = network.make().double().eval()
    reference.load_state_dict({name: tensor.cpu().double() for name, tensor in learner.net.state_dict().items()})
    exact = reference(learner.batch(index)[0].cpu().double()).detach()
    error = ((learner.infer(index).cpu().double() - exact).abs().max() / exact.abs().max()).item()
    if not math.isfinite(error) or error > REDUCED_LIMIT:
        return Check(WRONG, _number(error), LOSS_LIMIT, f"Its answers differ from the reference by {_part(error)}.")
    if error > LOSS_LIMIT:
        return Check(REDUCED, error, LOSS_LIMIT, f"Computed with reduced precision (off by {_part(error)}).")
    return Check(RIGHT, error, LOSS_LIMIT)


def worse(first: Check, second: Check) -> Check:
    """The check that says more against the device."""
    order = (RIGHT, UNVERIFIED, REDUCED, WRONG)
    return max(first, second, key=lambda check: (order.index(check.verdict), check.error or 0.0))


def _move_error(weight: Tensor, before: Tensor, gradient: Tensor, rate: float, fresh: bool) -> float:
    """How wrongly the weights moved, in units of the learning rate; Adam's first step is the gradient's sign.

    Only where the gradient is large enough for its sign to be certain.
    """
    move = weight.detach().cpu().double() - before
    certain = gradient.abs() > 0.05 * gradient.abs().max()
    if fresh:
        return ((move + rate * gradient.sign()).abs()[certain].max() / rate).item()
    return 1.0 if bool((move[certain] == 0).all()) else 0.0


def _number(error: float) -> float | None:
    """For strict JSON."""
    return error if math.isfinite(error) else None


def _part(error: float) -> str:
    """A relative error for people."""
    return f"{significant(100 * error, 2)} %" if math.isfinite(error) else "no number at all"
