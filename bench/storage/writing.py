"""A run as strict JSON, which ``reading`` reads back; the CSV of a run is words, and lies in ``text/table.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from bench.records.measurement import Failure, Outcome
from bench.records.reason import Reason
from bench.records.run import Run
from bench.storage.reading import SCHEMA_VERSION


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
        "environment": asdict(run.environment),
        "settings": dict(run.settings),
    }


def to_entry(outcome: Outcome) -> dict[str, object]:
    """One outcome as plain values; ``median_s`` is there for readers alone."""
    if isinstance(outcome, Failure):
        return {"case": asdict(outcome.case), "status": outcome.status, "error": outcome.error.plain()}
    entry = _plain(outcome)
    return {
        "case": entry.pop("case"),
        "status": entry.pop("status"),
        "median_s": _plain(outcome.median_s._asdict()),
    } | entry


def _plain(value: object) -> Any:
    """Dataclasses as dictionaries, reasons as files keep them."""
    if isinstance(value, Reason):
        return value.plain()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value
