"""Does a device train and answer rightly? Loss, gradients and weights of one step, and answers, against float64.

Limits are relative. What the CPU is off by in the same format, on the same weights, is the yardstick where a network is
touchy; formats of few digits are allowed more, in units of their roundoff.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bench.measure.compiling import answer
from bench.measure.verify import ROUNDOFF, number, part, reduced
from bench.records.formats import FLOAT32, computed, stored
from bench.records.measurement import REDUCED, RIGHT, WRONG, Check
from bench.records.reason import Reason, because
from bench.workloads.contract import Network

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bench.measure.trainer import Trainer

Gradients = tuple["Tensor", dict[str, "Tensor"]]  # the loss, and gradients by name
Errors = dict[tuple[Reason, str], float]  # of what, along or across
LOSS_LIMIT, GRADIENT_LIMIT, UPDATE_LIMIT = 1e-3, 1e-3, 0.1
SCALE_LIMIT = 5e-3  # of a loss, or of a gradient along itself: rounding averages out there, a wrong factor does not
SCATTER_LIMIT = {"cuda": 5e-2}  # of a gradient across itself: cuDNN's convolutions use TF32 unless told otherwise
MANY = 4.0  # times the error of the CPU's float32: different orders of summing differ by no more
LARGEST_LIMIT = {"along": 8e-3, "across": 5e-2}  # however far off that is
FEW_DIGITS = 2.0**-12  # a larger unit roundoff: sums of such numbers differ more with the order
FEW = {"along": 32.0, "across": 128.0}  # units of roundoff instead, where a format has so few digits that this is more
REDUCED_LIMIT = 5e-3  # of the same anywhere else, and of answers


def check_step(network: Network, trainer: Trainer, index: Tensor, fresh: bool) -> Check:
    """As ``_check_once``; what is wrong only while convolutions may use TF32 is reduced precision, not wrong.

    Batch normalisation over few values can make 8 % of TF32's 0.05 % (seen in ResNet-18 on an NVIDIA H200). So the
    step is taken again from the same weights without TF32, where the device has that.
    """
    import torch

    if trainer.device.name != "cuda" or not torch.backends.cudnn.allow_tf32:
        return _check_once(network, trainer, index, fresh)
    before = {name: tensor.detach().clone() for name, tensor in trainer.net.state_dict().items()}
    first = _check_once(network, trainer, index, fresh)
    if first.verdict != WRONG:
        return first
    trainer.net.load_state_dict(before)
    torch.backends.cudnn.allow_tf32 = False
    try:
        second = _check_once(network, trainer, index, fresh=False)
    finally:
        torch.backends.cudnn.allow_tf32 = True
    if second.verdict != RIGHT:
        return first
    why = because("reduced_to_tf32", part=part(first.error), rest=part(second.error))
    return Check(REDUCED, first.error, first.limit, why)


def _check_once(network: Network, trainer: Trainer, index: Tensor, fresh: bool) -> Check:
    """Let ``trainer`` take one training step on the images of ``index``, and compare it with float64.

    Gradients are compared along the right one, where a wrong factor shows, and across it, where rounding
    does. A trained network can be so near a kink of its ReLUs that any float32 is some per mille off: what the
    CPU's float32 is off by, on the same weights, is the yardstick, and up to MANY times that is allowed. Where
    the weights moved to is compared only if the optimiser is ``fresh``, since its memory of earlier steps is the
    device's own; that they moved, always. The step changes the trainer.
    """
    before = {name: tensor.detach().cpu().clone() for name, tensor in trainer.net.state_dict().items()}
    x, y = (tensor.cpu() for tensor in trainer.batch(index))
    exact = _reference(network, before, x, y, "float64")
    dtype = trainer.variant.dtype
    unit = ROUNDOFF[computed(dtype)]  # formats of few digits are allowed more, and their yardstick shows how much
    yardstick = _yardstick(network, before, x, y, exact, FLOAT32 if dtype == "float64" else dtype)
    loss = trainer.step(index).cpu().double()
    got = loss, _gradients(trainer.net)
    found = _deviations(_errors(got, exact, unit), exact, _Allowed(unit, trainer.device.name, yardstick))
    return (
        _wrong_gradients(found) or _wrong_move(trainer, before, got, exact, fresh) or _precision(found, yardstick, unit)
    )


class _Deviation(NamedTuple):
    """How far off the loss, or one gradient, is in one direction."""

    share: float  # of its limit; infinite where the error is no number
    error: float
    limit: float
    what: Reason


class _Allowed:
    """The largest errors that a format and a device explain, "along" and "across"."""

    def __init__(self, unit: float, device: str, yardstick: Errors) -> None:
        self._few, self._yardstick = unit > FEW_DIGITS, yardstick
        self._least = {"along": SCALE_LIMIT, "across": SCATTER_LIMIT.get(device, REDUCED_LIMIT)}
        self._most = {kind: max(largest, FEW[kind] * unit) for kind, largest in LARGEST_LIMIT.items()}

    def limit(self, what: Reason, kind: str) -> float:
        """At least what the device is known for; MANY times the yardstick, but never more than the most."""
        if self._few:
            return self._most[kind]
        return max(self._least[kind], min(MANY * self._yardstick[what, kind], self._most[kind]))


def _deviations(errors: Errors, exact: Gradients, allowed: _Allowed) -> list[_Deviation]:
    found = []
    sizes = {_gradient(name): gradient.numel() for name, gradient in exact[1].items()}
    for (what, kind), error in errors.items():
        limit = allowed.limit(what, kind)
        if kind == "along" and what in sizes:  # scatter of d numbers has a part along any direction, its size over √d
            limit = max(limit, min(3 / math.sqrt(sizes[what]), 0.9) * errors[what, "across"])
        found.append(_Deviation(error / limit if math.isfinite(error) else math.inf, error, limit, what))
    return found


def _wrong_gradients(found: Sequence[_Deviation]) -> Check | None:
    """WRONG if the loss or a gradient is beyond its limit."""
    share, error, limit, what = max(found, key=lambda one: one[:3])
    if share <= 1:
        return None
    return Check(WRONG, number(error), limit, because("differs", what=what, part=part(error)))


def _wrong_move(
    trainer: Trainer, before: dict[str, Tensor], got: Gradients, exact: Gradients, fresh: bool
) -> Check | None:
    """WRONG if the weights, ``before`` the step, did not move as ``_move_error`` wants it."""
    norms = {name: gradient.norm().item() for name, gradient in exact[1].items()}
    spacing = 2 * ROUNDOFF[stored(trainer.variant.dtype)]
    moved = [
        _move_error(p, before[name].double(), got[1][name], trainer.learning_rate, fresh, spacing)
        for name, p in trainer.net.named_parameters()
        if norms[name] > 1e-3 * math.hypot(*norms.values())  # others are rounding alone
    ]
    if not all(map(math.isfinite, moved)):
        return Check(WRONG, None, UPDATE_LIMIT, because("weights_no_numbers"))
    if max(moved) > UPDATE_LIMIT:
        return Check(WRONG, max(moved), UPDATE_LIMIT, because("weights_did_not_move"))
    return None


def _precision(found: Sequence[_Deviation], yardstick: Errors, unit: float) -> Check:
    """RIGHT, or REDUCED where the largest error is more than the CPU's in the same format explains."""
    few = unit > FEW_DIGITS
    _, error, _, what = max(found, key=lambda one: one.error)
    largest = max(yardstick.values(), default=max(LARGEST_LIMIT["across"], FEW["across"] * unit))
    limit = max(GRADIENT_LIMIT, (2 if few else 1) * MANY * largest)
    if error <= limit:
        return Check(RIGHT, error, limit)
    kind = "reduced_step" if few else "reduced_step_tf32"
    return Check(REDUCED, error, limit, because(kind, what=what, part=part(error)))


def check_trained(network: Network, trainer: Trainer, batches: Sequence[Tensor]) -> Check:
    """As ``check_step`` on the first of three batches; if that is wrong, what two of the three say.

    One image at a kink may turn a gradient by half a per cent on one device and not on another, once; a device
    that computes wrongly does so on every batch.
    """
    first = check_step(network, trainer, batches[0], fresh=False)
    if first.verdict != WRONG:
        return first
    others = [check_step(network, trainer, index, fresh=False) for index in batches[1:3]]
    wrong = [check for check in others if check.verdict == WRONG]
    return first if wrong or not others else others[0]


def _reference(network: Network, state: dict[str, Tensor], x: Tensor, y: Tensor, dtype: str) -> Gradients:
    """Loss and gradients by name, computed on the CPU in ``dtype``, given in float64."""
    import torch

    kind = getattr(torch, stored(dtype))
    net = network.make().to(kind).train()
    net.load_state_dict(state)
    loss = torch.nn.functional.cross_entropy(answer(net, x.to(kind), "cpu", dtype), y)
    loss.backward()
    return loss.detach().double(), _gradients(net)


def _yardstick(
    network: Network, state: dict[str, Tensor], x: Tensor, y: Tensor, exact: Gradients, dtype: str
) -> Errors:
    """Errors of the CPU in the same format; empty where the CPU can't do it (an LSTM in float16)."""
    try:
        return _errors(_reference(network, state, x, y, dtype), exact, ROUNDOFF[computed(dtype)])
    except RuntimeError:
        if dtype == FLOAT32:
            raise
        return {}


def _gradients(net: nn.Module) -> dict[str, Tensor]:
    """By parameter's name, on the CPU in float64; those of parameters that took no part are left out."""
    return {name: p.grad.cpu().double() for name, p in net.named_parameters() if p.grad is not None}


def _gradient(name: str) -> Reason:
    return because("gradient_of", name=name)


def _errors(got: Gradients, exact: Gradients, unit: float) -> Errors:
    """Relative errors of the loss and of each gradient, "along" the right one and "across" it.

    A gradient that is nothing beside all of them (of a bias before batch normalisation) is rounding alone; ``unit`` is
    the roundoff of what is computed in.
    """
    errors = {(because("loss"), "along"): ((got[0] - exact[0]).abs() / exact[0].abs()).item()}
    total = math.hypot(*(gradient.norm().item() for gradient in exact[1].values()))
    for name, right in exact[1].items():
        wrong, size = got[1][name] - right, right.norm().item() + max(1e-3, 4 * unit) * total
        errors[_gradient(name), "along"] = abs((wrong * right).sum().item()) / size**2
        errors[_gradient(name), "across"] = wrong.norm().item() / size
    return errors


def check_answers(network: Network, trainer: Trainer, index: Tensor) -> Check:
    """Compare the answers of inference with float64, relative to the largest of them."""
    reference = network.make().double().eval()
    reference.load_state_dict({name: tensor.cpu().double() for name, tensor in trainer.net.state_dict().items()})
    exact = reference(trainer.batch(index)[0].cpu().double()).detach()
    error = ((trainer.infer(index).cpu().double() - exact).abs().max() / exact.abs().max()).item()
    unit = ROUNDOFF[computed(trainer.variant.dtype)]
    limit = max(LOSS_LIMIT, 8 * unit)
    if not math.isfinite(error) or error > max(REDUCED_LIMIT, 64 * unit):
        why = because("answers_differ", part=part(error))
        return Check(WRONG, number(error), limit, why)
    if error > limit:
        return Check(REDUCED, error, limit, reduced(error))
    return Check(RIGHT, error, limit)


def _move_error(weight: Tensor, before: Tensor, gradient: Tensor, rate: float, fresh: bool, spacing: float) -> float:
    """How wrongly the weights moved, in units of the learning rate; Adam's first step is its gradient's sign.

    Only where the gradient is large enough for its sign to be certain, and where the format's ``spacing``, relative
    to the weight, is fine enough for the step to be seen.
    """
    move = weight.detach().cpu().double() - before
    certain = (gradient.abs() > 0.05 * gradient.abs().max()) & (rate > 25 * spacing * before.abs())
    if not bool(certain.any()):
        return 0.0
    if fresh:
        return ((move + rate * gradient.sign()).abs()[certain].max() / rate).item()
    return 1.0 if bool((move[certain] == 0).all()) else 0.0
