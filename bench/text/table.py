"""A run as a table: one row a case, its reasons in English whoever takes it away."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from statistics import median

from bench.records.measurement import Failure, Measurement, Outcome
from bench.records.run import Run
from bench.text.language import ENGLISH, speaking
from bench.text.tell import tell

FORMULA_STARTS = tuple("=+-@|\t\r\n＝＋－＠")  # a spreadsheet would run such a cell


COLUMNS = (
    "workload",
    "size",
    "device",
    "dtype",
    "threads",
    "layout",
    "compiled",
    "hardware",
    "status",
    "median_s",
    "ci95_low_s",
    "ci95_high_s",
    "noise",
    "speedup_vs_cpu",
    "speedup_ci95_low",
    "speedup_ci95_high",
    "items_per_s",
    "flop_per_s",
    "bytes_per_s",
    "dispatch_s",
    "events_s",
    "article_clock_s",
    "relative_error",
    "first_call_s",
    "samples",
    "rounds",
    "calls_per_sample",
    "disturbed_blocks",
    "images",
    "epochs",
    "total_s",
    "train_loss",
    "test_accuracy",
    "energy_j_per_epoch",
    "memory_bytes",
    "pool_bytes",
    "reason",
    "torch",
    "chip",
    "captured_at",
)


def to_rows(run: Run) -> list[dict[str, object]]:
    """One flat row a case, keyed by COLUMNS: seconds, FLOP and bytes; None where there is no figure."""
    with speaking(ENGLISH):
        return [_row(run, outcome) for outcome in run.outcomes]


def to_csv(run: Run) -> bytes:
    """The rows as UTF-8 with a byte-order mark, which Excel needs; pandas reads it with ``utf-8-sig`` or without."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=COLUMNS)
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in to_rows(run))
    return buffer.getvalue().encode("utf-8-sig")


def _row(run: Run, outcome: Outcome) -> dict[str, object]:
    environment = run.environment
    row: dict[str, object] = (
        dict.fromkeys(COLUMNS)
        | asdict(outcome.case)
        | {
            "hardware": environment.devices.get(outcome.case.device, ""),
            "status": outcome.status,
            "torch": environment.torch,
            "chip": environment.chip,
            "captured_at": environment.captured_at,
        }
    )
    if isinstance(outcome, Failure):
        return row | {"reason": tell(outcome.error)}
    row |= _measured(outcome)
    if speedup := run.speedup(outcome):
        row |= dict(zip(("speedup_vs_cpu", "speedup_ci95_low", "speedup_ci95_high"), speedup, strict=True))
    return row


def _measured(outcome: Measurement) -> dict[str, object]:
    """What a measurement alone tells; figures that it lacks are left out."""
    mid, learning = outcome.median_s, outcome.learning
    row: dict[str, object] = {
        "median_s": mid.value,
        "ci95_low_s": mid.low,
        "ci95_high_s": mid.high,
        "noise": outcome.noise,
        "items_per_s": outcome.items_per_s.value,
        "flop_per_s": outcome.flops_per_s.value,
        "bytes_per_s": outcome.bytes_per_s.value,
        "first_call_s": outcome.first_call_s,
        "samples": len(outcome.samples_s),
        "rounds": len(outcome.rounds),
        "calls_per_sample": outcome.calls,
        "disturbed_blocks": outcome.disturbed,
        "article_clock_s": outcome.article_s,
        "reason": " ".join(filter(None, map(tell, (outcome.reason, *outcome.flags)))),
    }
    if outcome.dispatch_s:
        row["dispatch_s"] = median(outcome.dispatch_s)
    if outcome.events_s:
        row["events_s"] = median(outcome.events_s)
    if outcome.check:
        row["relative_error"] = outcome.check.error
    if outcome.memory:
        row |= {"memory_bytes": outcome.memory.used_bytes, "pool_bytes": outcome.memory.pool_bytes}
    if learning:
        row |= {
            "images": learning.images,
            "epochs": len(learning.epochs_s),
            "total_s": sum(learning.epochs_s),
            "train_loss": learning.train_loss,
            "test_accuracy": learning.test_accuracy,
            "energy_j_per_epoch": sum(energy) / len(energy) if (energy := learning.energy_j) else None,
        }
    return row


def _cell(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" \u00a0").startswith(FORMULA_STARTS) else value
