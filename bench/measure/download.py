"""Fetching Fashion-MNIST as a job of the runner: one thing at a time, so that it never disturbs a clock."""

from __future__ import annotations

from bench.measure import clock
from bench.measure.job import Control, Stopped
from bench.records.reason import Quantity, because
from bench.workloads.datasets import Cancelled, download_fashion_mnist


def fetch(control: Control) -> None:
    """Download, check and unpack, publishing progress. DataError if it can't be had."""
    began = clock.now()

    def progress(done: int, total: int) -> None:
        elapsed = clock.now() - began
        left = elapsed * (total - done) / done if done else None
        control.publish(
            stage=because("downloading_part", done=Quantity(done, "B"), total=Quantity(total, "B")),
            done=done / total,
            left_s=left,
        )

    control.publish(stage=because("downloading"))
    try:
        download_fashion_mnist(progress=progress, cancelled=control.stop.is_set)
    except Cancelled as error:
        raise Stopped from error
