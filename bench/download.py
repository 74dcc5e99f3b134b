"""Fetching Fashion-MNIST as a job of the runner: one thing at a time, so that it never disturbs a clock."""

from __future__ import annotations

from bench import timing
from bench.datasets import Cancelled, download_fashion_mnist
from bench.runner import Control, Stopped
from bench.units import size
from bench.words import noted


def fetch(control: Control) -> None:
    """Download, check and unpack, publishing progress. DataError with a sentence if it can't be had."""
    began = timing.clock()

    def progress(done: int, total: int) -> None:
        elapsed = timing.clock() - began
        left = elapsed * (total - done) / done if done else None
        control.publish(
            stage=noted("downloading Fashion-MNIST, {done} of {total}", done=size(done), total=size(total)),
            done=done / total,
            left_s=left,
        )

    control.publish(stage=noted("downloading Fashion-MNIST"))
    try:
        download_fashion_mnist(progress=progress, cancelled=control.stop.is_set)
    except Cancelled as error:
        raise Stopped from error
