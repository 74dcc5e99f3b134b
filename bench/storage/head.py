"""A run in a list: what its row in the store says of it without its samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bench.records.case import Case
from bench.records.reason import Reason, quoted
from bench.storage.writing import compact, plain

MALFORMED = (
    ValueError,
    RecursionError,
    OverflowError,
)  # what a text from another hand raises; a FileError is the first


@dataclass(frozen=True, slots=True)
class Head:
    """One run in a list; its samples stay on disk."""

    id: str
    name: str
    note: str
    kind: str
    captured_at: str  # ISO 8601, UTC
    chip: str
    torch: str
    what: str  # operation, or networks
    devices: str
    emulated: bool
    origin: str  # "here", or "file"
    state: str
    error_kept: str  # as JSON, like the others of this name: ten thousand of them are listed unread
    summary_kept: str
    planned: int  # cases
    outcomes: int
    failures: int
    current: str  # JSON of the case being measured, while it runs
    stage_kept: str

    @property
    def error(self) -> Reason | None:
        """Why it broke off."""
        return read_reason(self.error_kept)

    @property
    def summary(self) -> Reason | None:
        """The first of its verdicts."""
        return read_reason(self.summary_kept)

    @property
    def stage(self) -> Reason | None:
        """What the case was at when it was last heard of."""
        return read_reason(self.stage_kept)

    @property
    def case(self) -> Case | None:
        """What was being measured when it was last heard of."""
        return Case(**json.loads(self.current)) if self.current else None

    @classmethod
    def of_row(cls, row: Sequence[object]) -> Head:
        """A row of COLUMNS; SQLite has no booleans."""
        values: dict[str, Any] = dict(zip(cls.__slots__, row, strict=True))
        return cls(**values | {"emulated": bool(values["emulated"])})


COLUMNS = ", ".join(name.removesuffix("_kept") for name in Head.__slots__)


def written_reason(reason: Reason | None) -> str:
    """JSON; empty where there is none."""
    return compact(plain(reason)) if reason else ""


@lru_cache(maxsize=2**14)  # a list that is searched asks for the same ones at every turn
def read_reason(text: object) -> Reason | None:
    """What ``written_reason`` wrote; a sentence that an older version kept, or what is no reason, stands for itself."""
    if not isinstance(text, str) or not text.startswith("{"):  # a damaged row may hold anything
        return Reason.from_plain(str(text or ""))
    try:
        return Reason.from_plain(json.loads(text))
    except MALFORMED:
        return quoted(text)
