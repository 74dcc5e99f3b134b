"""Does a device train and answer rightly? Loss, gradients and weights of one step, and answers, against float64.

Limits are relative. What the CPU is off by in the same format, on the same weights, is the yardstick where a network is
touchy; formats of few digits are allowed more, in units of their roundoff.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.measure.verification.gradients import (
    Gradients,
    along_and_across,
    gradients_of,
    lines_off,
    reference,
    touchy_lines,
)
from bench.measure.verification.limits import ROUNDOFF
from bench.measure.verification.places import Places
from bench.measure.verification.population import OUTLIER
from bench.measure.verification.verdicts import number, part
from bench.records.formats import FLOAT32, computed, stored
from bench.records.measurement import REDUCED, RIGHT, WRONG, Check
from bench.records.reason import Reason, because
from bench.workloads.contract import Network

if TYPE_CHECKING:
    from torch import Tensor

    from bench.measure.trainer import Trainer

LOSS_LIMIT, GRADIENT_LIMIT, UPDATE_LIMIT = 1e-3, 1e-3, 0.1
SCALE_LIMIT = 5e-3  # of a loss, or of a gradient along itself: rounding averages out there, a wrong factor does not
SCATTER_LIMIT = {"cuda": 5e-2}  # of a gradient across itself: cuDNN's convolutions use TF32 unless told otherwise
LINE_LIMIT = {"cuda": 0.2}  # of a row or column of a gradient, likewise
USUAL_LINE_LIMIT = 0.01  # seen: 0.003, in ResNet-18, whose batch normalisation is touchy
MANY = 4.0  # times the error of the CPU's float32: different orders of summing differ by no more
LARGEST_LIMIT = {"along": 8e-3, "across": 5e-2}  # however far off that is
FEW_DIGITS = 2.0**-12  # a larger unit roundoff: sums of such numbers differ more with the order
FEW = {"along": 32.0, "across": 128.0}  # units of roundoff instead, where a format has so few digits that this is more
REDUCED_LIMIT = 5e-3  # of the same anywhere else, and of answers
ANSWER_LIMIT = 32.0  # units of roundoff, of one image's answer beside the others


def check_step(network: Network, trainer: Trainer, index: Tensor, fresh: bool) -> Check:
    """As ``_Step``; what is wrong only while convolutions may use TF32 is reduced precision, not wrong.

    Batch normalisation over few values can make 8 % of TF32's 0.05 % (seen in ResNet-18 on an NVIDIA H200). So the
    step is taken again from the same weights without TF32, where the device has that.
    """
    import torch

    if trainer.device.name != "cuda" or not torch.backends.cudnn.allow_tf32:
        return _Step(network, trainer, index).check(fresh)
    before = {name: tensor.detach().clone() for name, tensor in trainer.net.state_dict().items()}
    first = _Step(network, trainer, index).check(fresh)
    if first.verdict != WRONG:
        return first
    trainer.net.load_state_dict(before)
    torch.backends.cudnn.allow_tf32 = False
    try:
        second = _Step(network, trainer, index).check(fresh=False)
    finally:
        torch.backends.cudnn.allow_tf32 = True
    if second.verdict != RIGHT:
        return first
    why = because("reduced_to_tf32", part=part(first.error), rest=part(second.error))
    return Check(REDUCED, first.error, first.limit, why)


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


class _Step:
    """One training step of ``trainer`` on the images of ``index``, beside float64's.

    Gradients are compared along the right one, where a wrong factor shows, and across it, where rounding
    does, and then row by row and column by column. A trained network can be so near a kink of its ReLUs that any
    float32 is some per mille off: what the CPU's float32 is off by, on the same weights, is the yardstick, and up to
    MANY times that is allowed. The step changes the trainer.
    """

    def __init__(self, network: Network, trainer: Trainer, index: Tensor) -> None:
        self._network, self._trainer = network, trainer
        self._before = {name: tensor.detach().cpu().clone() for name, tensor in trainer.net.state_dict().items()}
        self._x, self._y = (tensor.cpu() for tensor in trainer.batch(index))
        dtype = trainer.variant.dtype
        self._dtype = FLOAT32 if dtype == "float64" else dtype  # of the yardstick
        self._unit = ROUNDOFF[computed(dtype)]
        self._few = self._unit > FEW_DIGITS
        self._exact = reference(network, self._before, self._x, self._y, "float64")
        self._near = self._yardstick()
        loss = trainer.step(index).cpu().double()
        self._got = Gradients(loss, gradients_of(trainer.net))

    def _yardstick(self) -> Gradients | None:
        """The CPU's in the same format; None where it can't do that (an LSTM in float16)."""
        try:
            return reference(self._network, self._before, self._x, self._y, self._dtype)
        except RuntimeError:
            if self._dtype == FLOAT32:
                raise
            return None

    def check(self, fresh: bool) -> Check:
        """Where the weights moved to is compared only if the optimiser is ``fresh``, since its memory of earlier steps
        is the device's own; that they moved, always."""
        if not self._exact.finite:
            return Check("unverified", None, None, because("reference_no_number_step"), 0.0)
        yardstick = along_and_across(self._near, self._exact, self._unit) if self._near else {}
        errors = along_and_across(self._got, self._exact, self._unit)
        most = {kind: max(largest, FEW[kind] * self._unit) for kind, largest in LARGEST_LIMIT.items()}
        for wrong in (self._far_off(errors, yardstick, most), self._lines_off(), self._moved(fresh)):
            if wrong:
                return wrong
        (what, _), error = max(errors.items(), key=lambda one: one[1])
        limit = max(GRADIENT_LIMIT, (2 if self._few else 1) * MANY * max(yardstick.values(), default=most["across"]))
        if error <= limit:
            return Check(RIGHT, error, limit)
        if self._few:
            return Check(REDUCED, error, limit, because("reduced_step", what=what, part=part(error)))
        return Check(REDUCED, error, limit, because("reduced_step_tf32", what=what, part=part(error)))

    def _far_off(
        self,
        errors: dict[tuple[Reason, str], float],
        yardstick: dict[tuple[Reason, str], float],
        most: dict[str, float],
    ) -> Check | None:
        """The loss and each gradient as a whole; the one that is farthest beyond its limit."""
        limits = {"along": SCALE_LIMIT, "across": SCATTER_LIMIT.get(self._trainer.device.name, REDUCED_LIMIT)}
        sizes = {because("gradient_of", name=name): one.numel() for name, one in self._exact.gradients.items()}
        found = []  # (error over its limit, error, limit, what)
        for (what, kind), error in errors.items():
            few = self._few or not yardstick
            limit = most[kind] if few else max(limits[kind], min(MANY * yardstick[what, kind], most[kind]))
            if kind == "along" and what in sizes:  # scatter of d numbers has a part along any direction: its size / √d
                limit = max(limit, min(3 / math.sqrt(sizes[what]), 0.9) * errors[what, "across"])
            found.append((error / limit if math.isfinite(error) else math.inf, error, limit, what))
        share, error, limit, what = max(found, key=lambda one: one[:3])
        if share <= 1:
            return None
        return Check(WRONG, number(error), limit, because("differs", what=what, part=part(error)))

    def _lines_off(self) -> Check | None:
        """Rows and columns of gradients; one that is off is looked at again, in case it is at a kink."""
        if not self._near:
            return None
        limit = LINE_LIMIT.get(self._trainer.device.name, USUAL_LINE_LIMIT)
        found = lines_off(self._got, self._exact, self._unit)
        near = lines_off(self._near, self._exact, self._unit)
        beyond = [key for key, (error, _) in found.items() if not error <= max(limit, MANY * near[key][0])]
        if not beyond:
            return None
        touchy = touchy_lines(self._network, self._before, self._x, self._y, self._dtype, self._exact, self._unit)
        beyond = [key for key in beyond if not found[key][0] <= MANY * touchy[key]]
        if not beyond:
            return None
        name, axis = max(beyond, key=lambda key: found[key][0])
        error, line = found[name, axis]
        where = Places.line(axis, line)
        why = because("differs_in", what=because("gradient_of", name=name), where=where, part=part(error))
        return Check(WRONG, number(error), max(limit, MANY * near[name, axis][0]), why, where=where)

    def _moved(self, fresh: bool) -> Check | None:
        norms = {name: gradient.norm().item() for name, gradient in self._exact.gradients.items()}
        spacing = 2 * ROUNDOFF[stored(self._trainer.variant.dtype)]
        moved = [
            _move_error(p, self._before[name].double(), self._got.gradients[name], self._trainer, fresh, spacing)
            for name, p in self._trainer.net.named_parameters()
            if norms[name] > 1e-3 * math.hypot(*norms.values())
        ]
        if not all(map(math.isfinite, moved)):
            return Check(WRONG, None, UPDATE_LIMIT, because("weights_no_numbers"))
        if max(moved, default=0.0) > UPDATE_LIMIT:
            return Check(WRONG, max(moved), UPDATE_LIMIT, because("weights_did_not_move"))
        return None


def _move_error(
    weight: Tensor, before: Tensor, gradient: Tensor, trainer: Trainer, fresh: bool, spacing: float
) -> float:
    """How wrongly the weights moved, in units of the learning rate; Adam's first step is its gradient's sign.

    Only where the gradient is large enough for its sign to be certain, and where the format's ``spacing``, relative
    to the weight, is fine enough for the step to be seen.
    """
    rate = trainer.learning_rate
    move = weight.detach().cpu().double() - before
    if not bool(move.isfinite().all()):
        return math.nan
    certain = (gradient.abs() > 0.05 * gradient.abs().max()) & (rate > 25 * spacing * before.abs())
    if not bool(certain.any()):
        return 0.0
    if fresh:
        return ((move + rate * gradient.sign()).abs()[certain].max() / rate).item()
    return 1.0 if bool((move[certain] == 0).all()) else 0.0


def check_answers(network: Network, trainer: Trainer, index: Tensor) -> Check:
    """Compare every answer of inference with float64: relative to the largest, and each image's beside the others'."""
    import torch

    state = {name: tensor.cpu().double() for name, tensor in trainer.net.state_dict().items()}
    exact_net = network.make().double().eval()
    exact_net.load_state_dict(state)
    exact = exact_net(trainer.batch(index)[0].cpu().double()).detach()
    off = (trainer.infer(index).cpu().double() - exact).abs()
    unit = ROUNDOFF[computed(trainer.variant.dtype)]
    limit = max(LOSS_LIMIT, 8 * unit)
    if not bool(exact.isfinite().all()):
        return Check("unverified", None, limit, because("reference_no_number_step"), 0.0)
    tiny = torch.finfo(torch.float64).tiny
    error = (off.max() / exact.abs().max().clamp_min(tiny)).item()
    rows = off.flatten(1).amax(1) / exact.abs().flatten(1).amax(1).clamp_min(tiny)
    alone = max(ANSWER_LIMIT * unit, OUTLIER * rows.nan_to_num(0.0).median().item())
    if not math.isfinite(error) or error > max(REDUCED_LIMIT, 64 * unit):
        return Check(WRONG, number(error), limit, because("answers_differ", part=part(error)))
    if rows.max().item() > alone:
        places = Places(rows.shape)
        places.add(rows > alone, 0, range(len(rows)))
        where = places.reason(("image",)) or because("place_everywhere")
        why = because("differs_in", what=because("answers"), where=where, part=part(rows.max().item()))
        return Check(WRONG, number(rows.max().item()), alone, why, where=where)
    if error > limit:
        return Check(REDUCED, error, limit, because("reduced_precision", part=part(error)))
    return Check(RIGHT, error, limit)
