"""One finished run of any kind, on whatever page it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.records.run import Run
from bench.ui.parts.article_view import show_replay
from bench.ui.parts.sweep_view import show_sweep
from bench.ui.parts.training_view import show_training

VIEWS: Mapping[str, Callable[[Run], None]] = {
    "sweep": show_sweep,
    "aa": show_sweep,
    "training": show_training,
    "replay": show_replay,
}


def show_run(run: Run) -> None:
    """Verdict, charts, table and files."""
    VIEWS[run.kind](run)
