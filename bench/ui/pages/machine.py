"""What is here, what is missing, and the exact command or setting that mends it."""

from __future__ import annotations

import streamlit as st

from bench.checkup import check_here, to_send
from bench.doctor import Finding, examine
from bench.home import VARIABLE, bench_home
from bench.results import REFERENCE
from bench.runner import Snapshot
from bench.ui.live import follow, show_end, start_or_stop
from bench.ui.plain import plain
from bench.ui.session import kept, load_torch, runner
from bench.units import size

KIND = "checks"
MARKS = {
    True: (":material/check_circle:", "green"), False: (":material/error:", "red"),
    None: (":material/do_not_disturb_on:", "gray"),
}  # fmt: skip


def show() -> None:
    st.title("This machine")
    st.markdown("What the benchmark found here. The same list comes from `python -m bench doctor`.")
    load_torch()
    snapshot = runner().snapshot
    if not snapshot.devices:
        return
    for finding in examine(snapshot.devices):
        _line(finding)
    _checks(snapshot)
    store = kept().store
    runs = f" Runs: {store.path}, {size(store.size_bytes())}." if store else ""
    st.caption(f"Everything this program writes lies in {bench_home()}; set {VARIABLE} to change that.{runs}")


def _checks(snapshot: Snapshot) -> None:
    """What only the accelerator can settle, tried on demand; the findings can be sent."""
    st.subheader("Does the accelerator keep its word?", anchor=False)
    st.markdown(
        "Half a minute per accelerator: does waiting wait, do the clocks agree, is memory given back, are results "
        "right that have been wrong on some device before, what does idling cost, can two threads share it?"
    )
    if {device.name for device in snapshot.usable} == {REFERENCE}:
        st.caption("There is no accelerator here to try.")
        return
    start_or_stop(snapshot, "Try the accelerator", check_here, KIND)
    if follow(snapshot, KIND, lambda now: None):
        return
    last = runner().last(KIND)
    if last is None:
        return
    show_end(last)
    for verdict in last.told[0].checks if last.told else ():
        icon, color = MARKS[verdict.good]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(f"{label(snapshot, verdict.device)}: {verdict.name}", icon=icon, color=color)
            st.markdown(plain(verdict.text), width="stretch")
    if last.told:
        st.download_button(
            "What was found, to send (JSON)", lambda: to_send(last.told[0]), "checks.json", "application/json",
            on_click="ignore", key="take checks", icon=":material/download:",
        )  # fmt: skip


def label(snapshot: Snapshot, name: str) -> str:
    return next((device.label for device in snapshot.devices if device.name == name), name)


def _line(finding: Finding) -> None:
    if finding.good:
        icon, color = ":material/check_circle:", "green"
    elif finding.needed:
        icon, color = ":material/error:", "red"
    else:
        icon, color = ":material/do_not_disturb_on:", "gray"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(finding.name, icon=icon, color=color)
        st.markdown(f"{finding.text} {finding.mend}", width="stretch")
