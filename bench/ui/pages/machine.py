"""What is here, what is missing, and the exact command or setting that mends it."""

from __future__ import annotations

from functools import partial
from typing import Literal

import streamlit as st

from bench.machine.home import VARIABLE, bench_home
from bench.measure.device_checks import check_here
from bench.measure.doctor import examine
from bench.measure.job import Snapshot
from bench.records.checkup import Checkup
from bench.records.run import REFERENCE
from bench.text.evidence import to_send
from bench.text.language import translate
from bench.text.tell import tell
from bench.text.units import size
from bench.ui.parts.live import follow, show_end, start_or_stop
from bench.ui.parts.plain import plain
from bench.ui.parts.session import kept, load_torch, runner

KIND = "checks"
MARKS: dict[bool | None, tuple[str, Literal["green", "red", "gray"]]] = {
    True: (":material/check_circle:", "green"),
    False: (":material/error:", "red"),
    None: (":material/do_not_disturb_on:", "gray"),
}


def show() -> None:
    st.markdown(translate("What the benchmark found here. The same list comes from `python -m bench doctor`."))
    load_torch()
    snapshot = runner().snapshot
    if not snapshot.devices:
        return
    for finding in examine(snapshot.devices):
        good = True if finding.good else False if finding.needed else None
        text, mend = tell(finding.text), tell(finding.mend)
        _line(tell(finding.name), good, f"{text.rstrip('.')}. {mend}" if mend else text)
    _checks(snapshot)
    store = kept().store
    runs = translate(" Runs: {path}, {size}.", path=store.path, size=size(store.size_bytes())) if store else ""
    st.caption(
        translate(
            "Everything this program writes lies in {folder}; set {variable} to change that.",
            folder=bench_home(),
            variable=VARIABLE,
        )
        + runs
    )


def _checks(snapshot: Snapshot) -> None:
    """What only the accelerator can settle, tried on demand; the findings can be sent."""
    st.subheader(translate("Does the accelerator keep its word?"), anchor=False)
    st.markdown(
        translate(
            "About a minute: does waiting wait, do the clocks agree, is memory given back, are results right that "
            "have been wrong on some device before, what does idling cost, can two threads share it, does this "
            "page disturb it?"
        )
    )
    if {device.name for device in snapshot.usable} == {REFERENCE}:
        st.caption(translate("There is no accelerator here to try."))
        return
    start_or_stop(snapshot, translate("Try the accelerator"), check_here, KIND)
    if follow(snapshot, KIND, lambda now: None):
        return
    last = runner().last(KIND)
    if last is None:
        return
    show_end(last)
    labels = {device.name: device.label for device in snapshot.devices}
    for checkup in last.findings:
        if not isinstance(checkup, Checkup):
            continue
        for verdict in checkup.checks:
            _line(f"{labels[verdict.device]}: {tell(verdict.name)}", verdict.good, plain(tell(verdict.text)))
        st.download_button(
            translate("What was found, to send (JSON)"),
            partial(to_send, checkup),
            "checks.json",
            "application/json",
            on_click="ignore",
            key="take checks",
            icon=":material/download:",
        )


def _line(name: str, good: bool | None, text: str) -> None:
    icon, color = MARKS[good]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(name, icon=icon, color=color)
        st.markdown(text, width="stretch")
