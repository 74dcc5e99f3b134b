"""A run as a file. JSON is the record and reads back; CSV is a view, one row a case."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, fields
from statistics import median
from typing import Any

from bench.environment import Environment
from bench.results import FAILED, Failure, Measurement, Outcome, Run

SCHEMA_VERSION = 1
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run such a cell


class FileError(ValueError):
    """A file that is not a run: one sentence that says what is wrong and where."""


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
        return {"case": asdict(outcome.case), "status": outcome.status, "error": outcome.error}
    entry = asdict(outcome)
    return {
        "case": entry.pop("case"),
        "status": entry.pop("status"),
        "median_s": outcome.median_s._asdict(),
    } | entry


def from_json(text: str | bytes) -> Run:
    """The run that ``to_json`` wrote. FileError if it is not one, or from a newer version."""
    return from_data(_parse(text))


def from_data(data: object) -> Run:
    """The run that ``to_head`` and ``to_entry`` made, the entries under "results". FileError as ``from_json``."""
    if not isinstance(data, dict) or "schema_version" not in data:
        raise FileError("This is not a run of this program: it has no schema_version.")
    version = data["schema_version"]
    if version != SCHEMA_VERSION:
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        raise FileError(
            f"The file has schema_version {version!r}, newer than the {SCHEMA_VERSION} this program reads: update it."
            if newer
            else f"schema_version must be {SCHEMA_VERSION}, and {version!r} is not."
        )
    entries = data.get("results")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FileError("results must be a list with one entry a case.")
    return Run(
        _validated(str, data.get("kind"), "kind"),
        _validated(Environment, data.get("environment"), "environment"),
        _validated(dict[str, Any], data.get("settings", {}), "settings"),
        tuple(from_entry(entry, f"results[{i}]") for i, entry in enumerate(entries)),
    )


COLUMNS = (
    "workload", "size", "device", "dtype", "hardware", "status", "median_s", "ci95_low_s", "ci95_high_s", "noise",
    "speedup_vs_cpu", "speedup_ci95_low", "speedup_ci95_high", "items_per_s", "flop_per_s", "bytes_per_s",
    "dispatch_s", "events_s", "article_clock_s", "relative_error",
    "first_call_s", "samples", "rounds", "calls_per_sample", "disturbed_blocks", "images", "epochs",
    "total_s", "train_loss", "test_accuracy", "reason", "torch", "chip", "captured_at",
)  # fmt: skip


def to_rows(run: Run) -> list[dict[str, object]]:
    """One flat row a case, keyed by COLUMNS: seconds, FLOP and bytes; None where there is no figure."""
    return [_row(run, outcome) for outcome in run.outcomes]


def to_csv(run: Run) -> bytes:
    """The rows as UTF-8 with a byte-order mark, which Excel needs; pandas reads it with ``utf-8-sig`` or without."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=COLUMNS)
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in to_rows(run))
    return buffer.getvalue().encode("utf-8-sig")


def from_entry(entry: dict, where: str) -> Outcome:
    """The outcome that ``to_entry`` made; ``where`` it stands, for a FileError."""
    kind = Failure if entry.get("status") == FAILED else Measurement
    known = {field.name for field in fields(kind)}
    outcome = _validated(kind, {key: value for key, value in entry.items() if key in known}, where)
    if isinstance(outcome, Measurement):
        if not outcome.samples_s or min(outcome.samples_s) <= 0:
            raise FileError(f"{where}.samples_s must hold times above 0.")
        if sum(outcome.rounds) != len(outcome.samples_s) or min(outcome.rounds, default=0) < 0:
            raise FileError(f"{where}.rounds must add up to the number of samples.")
    return outcome


def _parse(text: str | bytes) -> object:
    def refuse(constant: str) -> None:
        raise FileError(f"{constant} is not a number in strict JSON.")

    try:
        return json.loads(text, parse_constant=refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileError(f"This is not JSON: {error}.") from error


def _validated(kind: Any, value: object, where: str) -> Any:
    """``value`` as a ``kind``, or a FileError that says where it is not."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    config = None if hasattr(kind, "__dataclass_fields__") else ConfigDict(allow_inf_nan=False)
    try:
        return TypeAdapter(kind, config=config).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join([where, *map(str, first["loc"])])
        raise FileError(f"{place}: {first['msg']}.") from error


def _row(run: Run, outcome: Outcome) -> dict[str, object]:
    environment = run.environment
    row: dict[str, object] = dict.fromkeys(COLUMNS) | asdict(outcome.case) | {
        "hardware": environment.devices.get(outcome.case.device, ""), "status": outcome.status,
        "torch": environment.torch, "chip": environment.chip, "captured_at": environment.captured_at,
    }  # fmt: skip
    if isinstance(outcome, Failure):
        return row | {"reason": outcome.error}
    mid, speedup, learning = outcome.median_s, run.speedup(outcome), outcome.learning
    row |= {
        "median_s": mid.value, "ci95_low_s": mid.low, "ci95_high_s": mid.high, "noise": outcome.noise,
        "items_per_s": outcome.items_per_s.value, "flop_per_s": outcome.flops_per_s.value,
        "bytes_per_s": outcome.bytes_per_s.value, "first_call_s": outcome.first_call_s,
        "samples": len(outcome.samples_s), "rounds": len(outcome.rounds), "calls_per_sample": outcome.calls,
        "disturbed_blocks": outcome.disturbed, "article_clock_s": outcome.article_s,
        "reason": " ".join((outcome.reason, *outcome.flags)).strip(),
    }  # fmt: skip
    if outcome.dispatch_s:
        row["dispatch_s"] = median(outcome.dispatch_s)
    if outcome.events_s:
        row["events_s"] = median(outcome.events_s)
    if outcome.check:
        row["relative_error"] = outcome.check.error
    if speedup:
        row |= dict(zip(("speedup_vs_cpu", "speedup_ci95_low", "speedup_ci95_high"), speedup, strict=True))
    if learning:
        row |= {
            "images": learning.images, "epochs": len(learning.epochs_s), "total_s": sum(learning.epochs_s),
            "train_loss": learning.train_loss, "test_accuracy": learning.test_accuracy,
        }  # fmt: skip
    return row


def _cell(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
