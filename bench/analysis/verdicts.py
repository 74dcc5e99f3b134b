"""What a run of any kind amounts to, in sentences."""

from __future__ import annotations

from bench.analysis import article_clocks, sweep_verdict, training_verdict
from bench.records.run import Run

BY_KIND = {
    "sweep": sweep_verdict.of_sweep,
    "training": lambda run: [*training_verdict.of_training(run), *training_verdict.of_singles(run)],
    "aa": sweep_verdict.of_noise,
    "replay": article_clocks.sentences,
}


def verdicts(run: Run) -> list[str]:
    """The verdict; empty where nothing was measured."""
    return BY_KIND[run.kind](run) if run.kind in BY_KIND and run.measurements else []
