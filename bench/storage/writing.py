"""A run as strict JSON, which ``reading`` reads back; the CSV of a run is words, and lies in ``text/table.py``.

Whatever a run holds can be written: a loss that is no number, or words of a driver that no file may hold, must not
cost the run that they stand in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from bench.records.measurement import Failure, Outcome
from bench.records.reason import Reason
from bench.records.run import Run
from bench.storage.reading import LONGEST_TEXT, SCHEMA_VERSION


def to_json(run: Run) -> str:
    """The run as strict JSON: no NaN, seconds, raw samples; ``median_s`` and ``status`` are there for readers."""
    data = to_head(run) | {"results": [to_entry(outcome) for outcome in run.outcomes]}
    return json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)


def to_head(run: Run) -> dict[str, object]:
    """Everything of a run but its outcomes, as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": run.kind,
        "emulated": run.emulated,
        "environment": plain(run.environment),
        "settings": plain(run.settings),
    }


def to_entry(outcome: Outcome) -> dict[str, object]:
    """One outcome as plain values; ``median_s`` is there for readers alone."""
    if isinstance(outcome, Failure):
        return {"case": plain(outcome.case), "status": outcome.status, "error": plain(outcome.error)}
    entry = plain(outcome)
    return {
        "case": entry.pop("case"),
        "status": entry.pop("status"),
        "median_s": plain(outcome.median_s._asdict()),
    } | entry


def compact(value: object) -> str:
    """Plain values as strict JSON on one line, as the store keeps them."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def plain(value: object) -> Any:
    """What strict JSON can hold: objects by their fields, reasons as files keep them, the rest as its words.

    A number that is none is None where its field may be, else a word: "nan", "inf" or "-inf".
    """
    if value is None or isinstance(value, bool | int | str):
        return writable(value) if isinstance(value, str) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(float(value))
    if isinstance(value, Reason):
        return plain(value.plain())
    if is_dataclass(value):
        return {one.name: _of_field(str(one.type), getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {writable(str(name)): plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return writable(str(value))


def writable(text: str) -> str:
    """The text without half characters (lone surrogates), and no longer than a file may hold."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST_TEXT else whole[: LONGEST_TEXT - 1] + "…"


def _of_field(kind: str, value: object) -> Any:
    absent = isinstance(value, float) and not math.isfinite(value) and kind.endswith("| None")
    return None if absent else plain(value)
