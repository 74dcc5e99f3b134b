"""Reasons in words, in the reader's language. Whatever a file holds is told somehow: nothing here raises."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping
from typing import Any

from bench.records.measurement import Failure, Outcome
from bench.records.reason import Figure, Quantity, Reason
from bench.stats import Estimate
from bench.text import names
from bench.text.language import translatable, translate
from bench.text.reasons import TEMPLATES
from bench.text.units import count, duration, percent, si, significant, span, times

MISSING = "–"
UNKNOWN = translatable("unknown")
POWER = {"mains": translatable("mains"), "battery": translatable("battery"), "on": "on", "off": "off"}


def tell(reason: Reason | None) -> str:
    """The sentence; empty where there is no reason. One whose kind a newer version wrote is shown as it stands."""
    if reason is None:
        return ""
    if reason.kind in NAMES:
        return NAMES[reason.kind](reason)
    template = TEMPLATES.get(reason.kind)
    return str(reason) if template is None else WRITER.format(translate(template), **dict(reason.figures))


def note(outcome: Outcome) -> str:
    """All that there is to say of a case: why it failed, or why to be careful with its figures."""
    reasons = (outcome.error,) if isinstance(outcome, Failure) else (outcome.reason, *outcome.flags)
    return " ".join(filter(None, map(tell, reasons)))


def told(figure: Figure) -> str:
    """A figure: quantities with prefix and unit, estimates as "3.90 times (3.70 to 4.10)", lists with commas."""
    if isinstance(figure, Reason):
        return tell(figure)
    if isinstance(figure, Quantity):
        return _quantity(figure)
    if isinstance(figure, Estimate):
        return times(figure)
    if isinstance(figure, tuple):
        return ", ".join(map(told, figure))
    if isinstance(figure, str):
        return figure
    return count(figure) if isinstance(figure, int) else significant(figure)


def _quantity(quantity: Quantity) -> str:
    if quantity.unit == "%":
        return percent(quantity.value)
    return si(quantity.value, quantity.unit) if quantity.unit else significant(quantity.value)


def _duration(figure: Figure) -> str:
    seconds = figure.value if isinstance(figure, Quantity) else figure
    return duration(seconds) if isinstance(seconds, int | float) and math.isfinite(seconds) else told(figure)


def _span(figure: Figure) -> str:
    return span(figure) if isinstance(figure, Estimate) else told(figure)


def _lower(figure: Figure) -> str:
    text = told(figure)
    return text[:1].lower() + text[1:]


def _bare(figure: Figure) -> str:
    return told(figure).rstrip(".")


def _joined(reason: Reason, between: str) -> str:
    parts = dict(reason.figures).get("parts", ())
    return between.join(map(told, parts if isinstance(parts, tuple) else (parts,)))


def _listed(reason: Reason) -> str:
    """Names after commas, and how many were left out: "100, 200 and 7 more"."""
    rest = dict(reason.figures).get("rest")
    return _joined(reason, ", ") + (translate(" and {rest} more", rest=told(rest)) if rest else "")


def _power(reason: Reason) -> str:
    return translate(POWER.get(str(dict(reason.figures).get("state")), UNKNOWN))


NAMES: Mapping[str, Callable[[Reason], str]] = {  # kinds that stand for a name or a list rather than a sentence
    "variant": names.variant_of,
    "the_variant": names.the_variant_of,
    "case": names.case_of,
    "workload": names.workload_of,
    "parts": lambda reason: _joined(reason, " · "),
    "several": lambda reason: _joined(reason, "; "),
    "listed": _listed,
    "power": _power,
}


class _Writer(string.Formatter):
    """Fills ``{name}`` with the figure; ``{name:duration}`` with a time for waiting, ``{name:span}`` with two ends.

    ``{name:bare}`` goes without its full stop, ``{name:lower}`` begins small, ``{name:plain}`` is without thin spaces.
    """

    FORMS: Mapping[str, Callable[[Any], str]] = {
        "": told,
        "duration": _duration,
        "span": _span,
        "bare": _bare,
        "lower": _lower,
        "plain": str,
    }

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return kwargs.get(key, MISSING)  # a file of another version may lack a figure

    def format_field(self, value: Any, format_spec: str) -> str:
        return self.FORMS[format_spec](value)


WRITER = _Writer()
