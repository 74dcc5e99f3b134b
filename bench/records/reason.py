"""A reason as a value: what kind it is, with its figures. Only ``text/`` puts it into words, in the reader's language.

Why a case failed, what a check found, what a job is at, what a run amounts to: all are kept, compared and written to
files as values, so that a run recorded under one language reads in another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from bench.stats import Estimate

TEXT = "text"  # the kind of words that are quoted: an exception's, or those of a file from before reasons were values
DEEPEST = 8  # reasons in reasons; ours go to 4
KIND, VALUE, UNIT = "kind", "value", "unit"  # names in a file


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure with its unit, never scaled: 1.2e9 "B", 0.025 "%" (a share of 1), 3.9 "" (a plain number)."""

    value: float
    unit: str


Figure = Union[str, int, float, Quantity, Estimate, "Reason", tuple["Figure", ...]]


@dataclass(frozen=True, slots=True)
class Reason:
    """``kind`` is a key of the table in ``text/reasons``; the figures fill the places of its sentence."""

    kind: str
    figures: tuple[tuple[str, Figure], ...] = ()

    def __getitem__(self, name: str) -> Figure:
        """A figure by name; KeyError if it has none of this name."""
        return dict(self.figures)[name]

    def __str__(self) -> str:
        """For a debugger or a log, never for people."""
        return f"{self.kind}({', '.join(f'{name}={value}' for name, value in self.figures)})"

    def plain(self) -> dict[str, Any]:
        """As a file keeps it: ``{"kind": …}`` and the figures by name; numbers that are not finite become words."""
        return {KIND: self.kind} | {name: _plain(value) for name, value in self.figures}

    @classmethod
    def from_plain(cls, value: object, depth: int = 0) -> Reason | None:
        """What ``plain`` made; text stands for itself, nothing (or no text) is no reason. Else ValueError."""
        if value is None or value == "":
            return None
        if isinstance(value, Reason):
            return value
        if isinstance(value, str):
            return quoted(value)
        if not isinstance(value, Mapping) or not isinstance(value.get(KIND), str) or depth > DEEPEST:
            raise ValueError("must be a reason: a text, or an object with its kind")
        figures = ((str(name), _figure(one, depth)) for name, one in value.items() if name != KIND)
        return cls(value[KIND], tuple(figures))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: Callable[..., Any]) -> Any:
        """How files are read (``storage/reading.py``); pydantic is imported there already."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(cls.from_plain)


def because(kind: str, /, **figures: Figure) -> Reason:
    """``because("no_memory", need=Quantity(1.2e9, "B"))``."""
    return Reason(kind, tuple(figures.items()))


def quoted(words: str) -> Reason:
    """Words that are shown as they are."""
    return because(TEXT, text=words)


class Refused(Exception):
    """Something that can't be done, with the reason as a value. ``PlanError("no_sizes")``."""

    def __init__(self, kind: str | Reason, /, **figures: Figure) -> None:
        self.reason = kind if isinstance(kind, Reason) else because(kind, **figures)
        super().__init__(str(self.reason))


class DeviceRefused(Refused, RuntimeError):
    """A device, or PyTorch, can't do what was asked of it: ends the case, not the run."""


def whole_reason_of(error: BaseException) -> Reason:
    """As ``reason_of``, with everything that an exception from outside says."""
    return error.reason if isinstance(error, Refused) else quoted(str(error).strip() or type(error).__name__)


def reason_of(error: BaseException) -> Reason:
    """An exception's own reason, or the first line of what it says; its type only where it says nothing."""
    if isinstance(error, Refused):
        return error.reason
    lines = str(error).strip().splitlines()
    return quoted(lines[0].strip() if lines else type(error).__name__)


def _plain(value: Figure) -> object:
    if isinstance(value, Reason):
        return value.plain()
    if isinstance(value, Quantity):
        return {VALUE: _plain(value.value), UNIT: value.unit}
    if isinstance(value, Estimate):
        return {name: _plain(one) for name, one in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _figure(value: object, depth: int) -> Figure:
    if isinstance(value, Mapping):
        if KIND in value:
            found = Reason.from_plain(value, depth + 1)
            return found if found else ""
        if set(value) == {VALUE, UNIT}:
            return Quantity(_number(value[VALUE]), str(value[UNIT]))
        if set(value) == set(Estimate._fields):
            return Estimate(*(_number(value[name]) for name in Estimate._fields))
        raise ValueError("holds a figure that is none")
    if isinstance(value, list | tuple):
        return tuple(_figure(one, depth) for one in value) if depth <= DEEPEST else ()
    if isinstance(value, str | int | float):
        return value
    raise ValueError("holds a figure that is none")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("holds a figure that is no number")
    return float(value)
