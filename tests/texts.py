"""Every text that the page can say, as it stands in the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from bench.analysis import comparison
from bench.records import formats
from bench.records.budget import EFFORTS
from bench.storage import recorded
from bench.text.reasons import TEMPLATES
from bench.ui.charts import sample_charts
from bench.ui.parts import explore, presets, report, sweep_controls, sweep_tabs, tables, training_controls
from bench.workloads import operations

ROOT = Path(__file__).resolve().parent.parent
MARKS = ("translate", "translatable")
STATUSES = ("converged", "noisy", "timed out", "failed", "wrong", "unverified", "impossible")
HEADS = (  # of tables that are made where they are shown
    "model",
    "device",
    "batch",
    "size",
    "case",
    "status",
    "note",
    "samples",
    "fastest process",
    "slowest",
    "between processes",
    "within one",
    "first run",
    "this run",
    "what",
    "when",
    "name",
    "kind",
    "devices",
    "verdict",
    "cases",
    "chip",
)


def texts() -> set[str]:
    """Those marked in the code, the sentences of reasons, and those that come out of tables."""
    return {text for text in (*_marked(), *TEMPLATES.values(), *_named()) if text not in ("", TEMPLATES["text"])}


def _marked() -> Iterator[str]:
    for path in (ROOT / "app.py", *(ROOT / "bench").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MARKS:
                text = node.args[0]
                if isinstance(text, ast.Constant):
                    yield text.value
                elif isinstance(text, ast.JoinedStr):
                    raise AssertionError(f"{path}:{node.lineno}: an f-string can't be looked up in a catalog")


def _named() -> Iterator[str]:
    for operation in operations.OPERATIONS.values():
        yield from (operation.title, operation.formula)
    for table in (tables.SWEEP, tables.RECAP, tables.REPLAY):
        for head, (_, meaning) in table.items():
            yield from (head, meaning)
    yield from (preset.question for preset in presets.PRESETS)
    yield from (*explore.AXES, *explore.QUANTITIES, *EFFORTS, *formats.OFF_ON, *recorded.TITLES.values())
    yield from (name for name, _, _ in sample_charts.CLOCKS)
    yield from (head for head, _ in report.COLUMNS.values())
    yield from (comparison.FASTER, comparison.SLOWER, comparison.EQUAL, comparison.UNDECIDED)
    yield from (*training_controls.DATA.values(), *sweep_controls.SPACINGS, *sweep_tabs.TABS, *sweep_tabs.AXES)
    yield from (*HEADS, *STATUSES)
