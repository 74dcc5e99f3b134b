"""Does a page that redraws disturb the clock? One call is timed alone and beside a busy thread, in turn.

The thread does in Python what a redraw does (a few hundredths of a second of text made of numbers), almost without a
pause, and asks the gate first, as the page does. What a browser paints meanwhile is seen only where one is open.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench import stats
from bench.measure import clock
from bench.stats.estimate import Estimate

if TYPE_CHECKING:
    from bench.machine.devices import Device
    from bench.measure.gate import Gate

ROUNDS, MOST_ROUNDS, BLOCKS, BLOCK_S = 6, 24, 6, 0.015
TRIES, WARM_S = 3, 0.2
NUMBERS = 20_000  # of one redraw
PAUSE_S = 0.002  # between two redraws; short beside one, or a median sees only the pauses


def slowdown_beside_a_page(
    device: Device, gate: Gate, step: Callable[[], object], settled: Callable[[Estimate], bool] = lambda found: True
) -> Estimate:
    """How many times as long a call takes while the thread redraws through ``gate``; paired rounds, 95 % interval.

    Goes on, up to four times as long, until what it found is ``settled``.
    """
    calls = clock.choose_calls(step, device.synchronize, BLOCK_S)
    alone: list[list[float]] = []
    beside: list[list[float]] = []
    for number in range(2 * MOST_ROUNDS):
        if (number + number // 2) % 2:  # alone first, then beside first: drift falls on both alike
            with _redrawing(gate):
                beside.append(_round(device, gate, step, calls))
        else:
            alone.append(_round(device, gate, step, calls))
        if len(alone) == len(beside) >= ROUNDS and settled(found := stats.ratio(beside, alone)):
            return found
    return stats.ratio(beside, alone)


def _round(device: Device, gate: Gate, step: Callable[[], object], calls: int) -> list[float]:
    """As a run takes its samples: warmed up after the wait for the gate, and without blocks that were disturbed."""
    for _ in range(TRIES):
        with gate.timed():
            clock.warm_up(step, device.synchronize, calls, tolerance=0.05, longest_s=WARM_S)
            blocks = [clock.time_block(step, device.synchronize, calls) for _ in range(BLOCKS)]
        kept = [block.per_step for block in blocks if not gate.disturbed(block.start, block.end)]
        if kept:
            return kept
    return [block.per_step for block in blocks]  # nothing but disturbed ones: the check shall see them


@contextmanager
def _redrawing(gate: Gate) -> Iterator[None]:
    over = threading.Event()

    def redraw() -> None:
        while not over.is_set():
            with gate.drawing():
                json.dumps([n / 7 for n in range(NUMBERS)])
            over.wait(PAUSE_S)

    thread = threading.Thread(target=redraw, name="redraws")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
