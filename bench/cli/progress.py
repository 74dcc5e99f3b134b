"""Bars, where there is a terminal to see them: of a job and of a download."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.measure.job import Snapshot
from bench.measure.runner import Runner
from bench.text.tell import tell
from bench.text.units import duration

FORM = "{desc} |{bar}| {percentage:3.0f} % {postfix}"
LONGEST, ASKED_S = 60, 0.5


def follow(runner: Runner) -> Snapshot:
    """Show how far the job is until it is over; what it came to."""
    from tqdm import tqdm

    with tqdm(total=1.0, bar_format=FORM, disable=not sys.stderr.isatty(), leave=False) as bar:
        while (snapshot := runner.join(ASKED_S)).active:
            bar.n = snapshot.done
            words = (str(snapshot.current or ""), tell(snapshot.stage))
            bar.set_description_str(" · ".join(filter(None, words))[:LONGEST])
            bar.set_postfix_str(f"about {duration(snapshot.left_s)} left" if snapshot.left_s else "")
    return snapshot


@contextmanager
def download_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """A function to tell how many bytes are there, of how many."""
    from tqdm import tqdm

    with tqdm(unit="B", unit_scale=True, desc=name, disable=not sys.stderr.isatty()) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield progress
