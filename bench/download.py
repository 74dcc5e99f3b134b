"""Fetching Fashion-MNIST as a job of the runner: one thing at a time, so that it never disturbs a clock."""

from __future__ import annotations

from bench import timing
from bench.datasets import Cancelled, download_fashion_mnist
from bench.runner import Control, Stopped
from bench.units import size


def fetch(control: Control) -> None:
    """Download, check and unpack, publishing progress. DataError with a sentence if it can't be had."""
    began = timing.clock()

    def progress(done: int, total: int) -> None:
        elapsed = timing.clock() - began
        left = elapsed * (total - done) / done if done else None
        control.publish(
            stage=f"downloading Fashion-MNIST, {size(done)} of {size(total)}", done=done / total, left_s=left
        )

    control.publish(stage="downloading Fashion-MNIST")
    try:
        download_fashion_mnist(progress=progress, cancelled=control.stop.is_set)
    except Cancelled as error:
        raise Stopped from error
