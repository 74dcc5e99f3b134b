"""What a run of any kind amounts to, as values: the first is the headline."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.analysis import article_clocks, sweep_verdict, training_verdict
from bench.records.reason import Reason
from bench.records.run import Run

BY_KIND: Mapping[str, Callable[[Run], list[Reason]]] = {
    "sweep": sweep_verdict.of_sweep,
    "training": lambda run: [*training_verdict.of_training(run), *training_verdict.of_singles(run)],
    "aa": sweep_verdict.of_noise,
    "replay": article_clocks.of_replay,
}


def verdicts(run: Run) -> list[Reason]:
    """The verdict; empty where nothing was measured."""
    return BY_KIND[run.kind](run) if run.kind in BY_KIND and run.measurements else []
