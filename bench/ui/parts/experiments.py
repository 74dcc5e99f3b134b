"""What else can be asked of the chosen operation: the instrument itself, minutes on end, and new processes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

import pandas as pd
import streamlit as st

from bench.analysis import sweep_verdict
from bench.analysis.spread import Spread, summary
from bench.measure import processes
from bench.measure.job import Job, Snapshot
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import sustained
from bench.records.case import Case, again
from bench.text.language import translate
from bench.text.names import on, sized_name
from bench.text.tell import tell
from bench.text.units import count, si, significant
from bench.ui.parts.live import begin, show_end
from bench.ui.parts.plain import plain
from bench.ui.parts.session import runner

NOISE, SWEEP, FRESH = "aa", "sweep", "fresh"
PROCESSES = 5


def show_experiments(plan: SweepPlan | None, snapshot: Snapshot) -> None:
    """Three further experiments, folded away until one has been made; each control drawn would cost every click."""
    folded = st.expander(
        translate("Further experiments: how far can a number be trusted?"),
        snapshot.kind in (NOISE, FRESH),
        icon=":material/science:",
        key="experiments",
        on_change="rerun",
    )
    if not folded.open:
        return
    with folded:
        if plan is None or snapshot.active or not snapshot.devices:
            st.caption(translate("Available once the choices at the side make a plan and nothing is running."))
            return
        names = [translate("The instrument itself"), translate("For minutes"), translate("In new processes")]
        tabs = st.tabs(names, default=names[-1] if snapshot.kind == FRESH else None)
        with tabs[0]:
            _against_itself(plan)
        with tabs[1]:
            _for_minutes(plan)
        with tabs[2]:
            _in_new_processes(plan)


def _against_itself(plan: SweepPlan) -> None:
    st.markdown(
        translate(
            "Measures one device against itself, as if it were two. Whatever difference shows is the instrument's own "
            "noise on this machine now; it becomes a grey band in the speed-up chart."
        )
    )
    device = plan.devices[-1]
    twice = replace(plan, devices=(device, again(device)))
    _start(translate("Measure it against itself"), "itself", partial(measure, twice), NOISE, twice.cases)
    last = runner().last(NOISE)
    if last and last.run and not last.active:
        for sentence in sweep_verdict.of_noise(last.run):
            st.markdown(f"**{plain(tell(sentence))}**")


def _for_minutes(plan: SweepPlan) -> None:
    st.markdown(
        translate("Runs one size for minutes without a pause: does the device keep its speed when it gets warm?")
    )
    left, right = st.columns(2)
    choice = left.selectbox(
        translate("Size"), plan.sizes, index=len(plan.sizes) - 1, format_func=count, key="sustained size"
    )
    size = cast(int, choice)  # Streamlit's types, read for Python 3.10, call it None
    minutes = right.select_slider(translate("Minutes"), [0.5, 1, 2, 5, 10, 20], value=2, key="minutes")
    long = replace(plan, sizes=(size,), devices=plan.devices[-1:], budget=sustained(minutes))
    _start(
        translate("Run it for {minutes:g} min", minutes=minutes), "sustain", partial(measure, long), SWEEP, long.cases
    )


def _in_new_processes(plan: SweepPlan) -> None:
    st.markdown(
        translate(
            "Starts the same sweep in several new processes, one after the other: some calls are two to three "
            "times slower in some of them, which no repetition inside a process shows. Each is kept in the "
            "history as a run of its own."
        )
    )
    times = st.select_slider(translate("Processes"), [2, 3, 5, 8, 12], value=PROCESSES, key="processes")
    _start(
        translate("Measure in {times} processes", times=times),
        "fresh",
        partial(processes.in_new_processes, plan, times),
        FRESH,
        (),
    )
    last = runner().last(FRESH)
    if last is None or last.active:
        return
    show_end(last)
    if last.findings:
        _spreads([one for one in last.findings if isinstance(one, Spread)], last)


def _spreads(found: list[Spread], last: Snapshot) -> None:
    """How far processes differ, in words and case by case."""
    labels = {device.name: device.label for device in last.devices}

    def named(case: Case) -> str:
        variant = " · ".join([labels.get(case.device, case.device.upper()), *case.variant.settings])
        return on(sized_name(case), variant)

    st.markdown(f"**{plain(' '.join(map(tell, summary(found, named))))}**")
    frame = pd.DataFrame(
        [
            {
                "case": named(one.case),
                "fastest process": si(min(one.medians_s), "s"),
                "slowest": si(max(one.medians_s), "s"),
                "between processes": f"{significant(one.between)} ×",
                "within one": f"{significant(one.within)} ×",
            }
            for one in found
        ]
    )
    st.dataframe(
        frame.rename(columns=translate),
        hide_index=True,
        key="spreads",
        alt=translate("Every case over the processes."),
    )


def _start(label: str, key: str, job: Job, kind: str, planned: tuple[Case, ...]) -> None:
    st.button(label, key=key, icon=":material/play_arrow:", on_click=begin, args=(job, kind, planned))
