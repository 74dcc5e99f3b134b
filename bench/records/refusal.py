"""What can't be planned: the reason is a value, and says what to do."""

from __future__ import annotations

from bench.records.reason import Refused, because

MOST_THREADS = 1024


class PlanError(Refused, ValueError):
    """A plan that cannot be measured."""


def check_between(what: str, value: object, low: int, high: int) -> None:
    """PlanError unless ``value`` is a whole number in that range, both ends included. ``what`` is a kind of reason."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise PlanError("out_of_range", what=because(what), low=low, high=high, value=str(value))
