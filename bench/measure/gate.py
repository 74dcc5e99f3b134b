"""Keeps drawing and timing apart: the page draws between timed stretches, never during one.

Both share the interpreter and the cores. A page that redraws twice a second while a block is timed
made small products read up to seven times too slow. So the thread that measures holds the gate
while it times, and whoever draws waits for it. What a page does before it can ask (receiving the
request) and after it has drawn (the browser painting) is outside the gate: blocks that a request
fell into are measured again, and timing waits for the machine to calm down after a drawing.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from bench.machine import load
from bench.measure import clock

LEAD_S = 0.03  # a request keeps the interpreter busy about so long before it reaches the gate
PATIENCE_S = 2.0  # a page waits no longer than this for a block to end; then it draws all the same
LONGEST_WAIT_S = 1.0  # of the run for pages and calm, before each timed stretch
NOT_YET = float("inf")  # the end of a drawing that goes on
CALM_WINDOW_S, CALM_LONGEST_S = 0.05, 0.4
RESOLUTION_S = 0.01  # of the processes' times


class Gate:
    """One per runner. ``timed`` is for the thread that measures, ``drawing`` for everybody else."""

    def __init__(self, settle: Callable[[], None] | None = None) -> None:
        self._condition = threading.Condition()
        self._timing = False
        self._drawers = 0  # waiting or drawing
        self._spans: deque[list[float]] = deque(maxlen=64)  # [from, to]: blocks in them are disturbed
        self._settle = settle or wait_for_calm
        self._unsettled = False
        self._me = psutil.Process()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Hold off drawing; begins when nobody draws and the machine has calmed down.

        Waits no longer than LONGEST_WAIT_S for that: many tabs must not keep the run from going on. Then blocks
        that a drawing overlaps are disturbed.
        """
        deadline = clock.now() + LONGEST_WAIT_S
        while True:
            with self._condition:
                self._condition.wait_for(lambda: not self._drawers, timeout=max(0.0, deadline - clock.now()))
                if not self._unsettled or clock.now() >= deadline:
                    self._timing, self._unsettled = True, False
                    if self._drawers:
                        self._spans.append([clock.now(), NOT_YET])
                    break
                self._unsettled = False
            self._settle()
        try:
            yield
        finally:
            with self._condition:
                self._timing = False
                self._condition.notify_all()

    @contextmanager
    def drawing(self, patience: float = PATIENCE_S) -> Iterator[bool]:
        """Wait for the timed stretch to end, at most ``patience`` seconds; yields whether it has."""
        asked = clock.now()
        span = [asked - LEAD_S, asked + LEAD_S / 10]
        with self._condition:
            self._drawers += 1
            if self._timing:
                self._spans.append(span)
            quiet = self._condition.wait_for(lambda: not self._timing, patience)
            if not quiet:
                span[1] = NOT_YET
        try:
            yield quiet
        finally:
            with self._condition:
                self._drawers -= 1
                self._unsettled = True
                if not self._drawers:
                    for open_span in self._spans:
                        open_span[1] = min(open_span[1], clock.now())
                self._condition.notify_all()

    def others_s(self) -> float:
        """CPU seconds that other programs have used so far."""
        return load.others_s(self._me)

    def preempted(self) -> int:
        """How often so far the system has taken the core away from whoever measures; 0 where it does not tell."""
        return load.preempted()

    def disturbed(self, start: float, end: float) -> bool:
        """Did a page ask to be drawn, or draw, between these two readings of the clock?"""
        return any(start < to and since < end for since, to in tuple(self._spans))


def wait_for_calm() -> None:
    """Return once other processes (a browser painting) leave the cores alone, or after CALM_LONGEST_S."""
    me, pause, deadline = psutil.Process(), threading.Event(), clock.now() + CALM_LONGEST_S
    busy = load.others_s(me)
    while clock.now() < deadline:
        pause.wait(CALM_WINDOW_S)
        now = load.others_s(me)
        if now - busy <= 0.2 * CALM_WINDOW_S + RESOLUTION_S / 2:
            return
        busy = now
