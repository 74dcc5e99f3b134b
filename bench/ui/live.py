"""Start, stop, and the view of a run in progress, which redraws itself while the run lasts."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bench import timing
from bench.runner import Job, Snapshot, State
from bench.ui.notices import about_keeping
from bench.ui.plain import plain
from bench.ui.session import drawing, runner
from bench.units import duration
from bench.words import phrase, retold, say

NAMES = {
    "sweep": phrase("A sweep"),
    "training": phrase("A training"),
    "replay": phrase("The replay of the article"),
    "aa": phrase("A device against itself"),
    "download": phrase("A download"),
    "fresh": phrase("The same sweep in new processes"),
    "checks": phrase("The doctor"),
}
SILENT_S = 60.0  # a device that says nothing for so long may hang: said, never ended by force
REDRAW_S = 1.0  # more often would cost the measuring time; see gate.py


def start_or_stop(snapshot: Snapshot, label: str, job: Job | None, kind: str, planned=(), blocked: str = "") -> None:
    """One button in one place: Run, and Stop while something runs.

    A page draws one snapshot from top to bottom: a job that ends meanwhile is seen by ``follow``.
    """
    if snapshot.active:
        stopping = snapshot.state is State.STOPPING
        text = say("Stopping after this block …") if stopping else say("Stop")
        st.button(text, key="stop", icon=":material/stop:", disabled=stopping, on_click=runner().stop, width="stretch")
        return
    disabled = job is None or bool(blocked)
    st.button(
        label if disabled else f":violet[{label}]",  # readable on the accent: see the theme
        key="run", type="primary", icon=":material/play_arrow:", disabled=disabled, help=blocked or None,
        on_click=begin, args=(job, kind, planned), width="stretch",
    )  # fmt: skip


def begin(job: Job, kind: str, planned=()) -> None:
    """Start a job, or say that another tab was faster."""
    try:
        runner().start(job, kind, planned)
    except RuntimeError as refused:
        st.toast(str(refused), icon=":material/info:")


def follow(snapshot: Snapshot, kind: str, draw: Callable[[Snapshot], None]) -> bool:
    """While a job runs: its progress, and ``draw`` if it is of this kind. Returns whether one runs."""
    if not snapshot.active:
        return False
    st.fragment(_panel, run_every=REDRAW_S)(kind, draw)
    return True


def _panel(kind: str, draw: Callable[[Snapshot], None]) -> None:
    with drawing():
        snapshot = runner().snapshot
        if not snapshot.active:
            st.rerun()  # once more, the whole page: button, verdict and downloads come
        _progress(snapshot)
        _silence(snapshot)
        about_keeping(snapshot)
        if snapshot.kind == kind:
            draw(snapshot)
        else:
            st.info(
                say("{kind} is running; one thing is measured at a time.", kind=say(NAMES[snapshot.kind])),
                icon=":material/info:",
            )


def _progress(snapshot: Snapshot) -> None:
    words = [retold(snapshot.stage)]
    if snapshot.current:
        words.insert(0, describe(snapshot))
    if snapshot.left_s is not None:
        words.append(say("about {time} left", time=duration(snapshot.left_s)))
    st.progress(snapshot.done, text=" · ".join(words))


def _silence(snapshot: Snapshot) -> None:
    """A device may hang in the middle of a step, where nothing can reach it."""
    silent = timing.clock() - snapshot.told_at
    if silent < SILENT_S:
        return
    what = describe(snapshot) if snapshot.current else say("The job")
    st.warning(
        say("{what} has said nothing for {silent}: either one step takes so long, or the device hangs. Stop is "
        "heard when the step ends. If it never does, close the program and start it again: what is finished is kept, "
        "and the run can be gone on with.", what=what, silent=duration(silent)), icon=":material/hourglass_disabled:",
    )  # fmt: skip


def describe(snapshot: Snapshot) -> str:
    """The case being measured, in words."""
    case, run = snapshot.current, snapshot.run
    return run.in_full(case) if run else str(case)


def show_end(snapshot: Snapshot) -> None:
    """How the last job of a page ended, where it did not simply finish."""
    about_keeping(snapshot)
    if snapshot.state is State.BROKEN:
        st.error(plain(retold(snapshot.error)), icon=":material/error:")
        if snapshot.run is not None or "DataError" not in snapshot.details:
            with st.expander(say("Details for a report")):
                st.code(snapshot.details, language=None)
    elif snapshot.state is State.STOPPED:
        finished = snapshot.run is not None and snapshot.run.outcomes
        st.info(say("Stopped. What was finished is below.") if finished else say("Stopped. Nothing was finished yet."))
