"""Start, stop, and the view of a run in progress, which redraws itself while the run lasts."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bench.measure import clock
from bench.measure.job import Job, Snapshot, State
from bench.records.case import Case
from bench.records.reason import Refused
from bench.records.run import Run
from bench.text.language import translatable, translate
from bench.text.names import full_name
from bench.text.tell import tell
from bench.text.units import duration
from bench.ui.parts.notices import about_keeping
from bench.ui.parts.plain import plain
from bench.ui.parts.session import drawing, runner

NAMES = {
    "sweep": translatable("A sweep"),
    "training": translatable("A training"),
    "replay": translatable("The replay of the article"),
    "aa": translatable("A device against itself"),
    "download": translatable("A download"),
    "fresh": translatable("The same sweep in new processes"),
    "checks": translatable("The doctor"),
}
SILENT_S = 60.0  # a device that says nothing for so long may hang: said, never ended by force
REDRAW_S = 1.0  # more often would cost the measuring time; see gate.py


def start_or_stop(
    snapshot: Snapshot, label: str, job: Job | None, kind: str, planned: tuple[Case, ...] = (), blocked: str = ""
) -> None:
    """One button in one place: Run, and Stop while something runs.

    A page draws one snapshot from top to bottom: a job that ends meanwhile is seen by ``follow``.
    """
    if snapshot.active:
        stopping = snapshot.state is State.STOPPING
        text = translate("Stopping after this block …") if stopping else translate("Stop")
        st.button(text, key="stop", icon=":material/stop:", disabled=stopping, on_click=runner().stop, width="stretch")
        return
    disabled = job is None or bool(blocked)
    st.button(
        label if disabled else f":violet[{label}]",  # readable on the accent: see the theme
        key="run",
        type="primary",
        icon=":material/play_arrow:",
        disabled=disabled,
        help=blocked or None,
        on_click=begin,
        args=(job, kind, planned),
        width="stretch",
    )


def begin(job: Job, kind: str, planned: tuple[Case, ...] = ()) -> None:
    """Start a job, or say that another tab was faster."""
    try:
        runner().start(job, kind, planned)
    except Refused as error:
        st.toast(plain(tell(error.reason)), icon=":material/info:")


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
                translate("{kind} is running; one thing is measured at a time.", kind=translate(NAMES[snapshot.kind])),
                icon=":material/info:",
            )


def _progress(snapshot: Snapshot) -> None:
    words = [tell(snapshot.stage)] if snapshot.stage else []
    if snapshot.current:
        words.insert(0, _named(snapshot.current, snapshot.run))
    if snapshot.left_s is not None:
        words.append(translate("about {time} left", time=duration(snapshot.left_s)))
    st.progress(snapshot.done, text=" · ".join(words))


def _silence(snapshot: Snapshot) -> None:
    """A device may hang in the middle of a step, where nothing can reach it."""
    silent = clock.now() - snapshot.heard_at
    if silent < SILENT_S:
        return
    what = _named(snapshot.current, snapshot.run) if snapshot.current else translate("The job")
    st.warning(
        translate(
            "{what} has said nothing for {silent}: either one step takes so long, or the device hangs. Stop is "
            "heard when the step ends. If it never does, close the program and start it again: what is finished is "
            "kept, and the run can be gone on with.",
            what=what,
            silent=duration(silent),
        ),
        icon=":material/hourglass_disabled:",
    )


def _named(case: Case, run: Run | None) -> str:
    """The case being measured, in words."""
    return full_name(run, case) if run else str(case)


def show_end(snapshot: Snapshot) -> None:
    """How the last job of a page ended, where it did not simply finish."""
    about_keeping(snapshot)
    if snapshot.state is State.BROKEN:
        st.error(plain(tell(snapshot.error)), icon=":material/error:")
        if snapshot.run is not None or "DataError" not in snapshot.details:
            with st.expander(translate("Details for a report")):
                st.code(snapshot.details, language=None)
    elif snapshot.state is State.STOPPED:
        finished = snapshot.run is not None and snapshot.run.outcomes
        st.info(
            translate("Stopped. What was finished is below.")
            if finished
            else translate("Stopped. Nothing was finished yet.")
        )
