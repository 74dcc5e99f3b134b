"""The loss of a training as it falls: while it runs, and as a run has kept it."""

from __future__ import annotations

from dataclasses import dataclass

from bench.records.case import Case
from bench.records.run import Run


@dataclass(frozen=True, slots=True)
class Curve:
    """How one training has gone so far; all lists grow together."""

    case: Case
    images: tuple[int, ...] = ()  # seen so far
    losses: tuple[float, ...] = ()  # mean since the last entry
    seconds: tuple[float, ...] = ()  # of training so far


def curves_of(run: Run) -> tuple[Curve, ...]:
    """The losses that a run kept; the times between them are taken as even."""
    found = []
    for m in run.measurements:
        if not m.learning or not m.learning.losses:
            continue
        images, losses = zip(*m.learning.losses, strict=True)
        total = sum(m.learning.epochs_s)
        seconds = tuple(total * n / images[-1] for n in images)
        found.append(Curve(m.case, images, losses, seconds))
    return tuple(found)
