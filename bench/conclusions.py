"""What a run of any kind amounts to, in sentences."""

from __future__ import annotations

from bench import replay, training_verdict, verdict
from bench.results import Run

BY_KIND = {
    "sweep": verdict.of_sweep,
    "training": lambda run: [*training_verdict.of_training(run), *training_verdict.of_singles(run)],
    "aa": verdict.of_noise,
    "replay": replay.sentences,
}


def conclusions(run: Run) -> list[str]:
    """The verdict; empty where nothing was measured."""
    return BY_KIND[run.kind](run) if run.kind in BY_KIND and run.measurements else []
