"""What else can be asked of the chosen operation: the instrument itself, minutes on end, and new processes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from bench.analysis import spread, sweep_verdict
from bench.measure import processes
from bench.measure.job import Snapshot
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.budget import sustained
from bench.records.case import Case, again
from bench.text.language import translate
from bench.text.names import sized_name
from bench.text.tell import tell
from bench.text.units import count, si, significant
from bench.ui.parts.live import begin, show_end
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
    size = left.selectbox(
        translate("Size"), plan.sizes, index=len(plan.sizes) - 1, format_func=count, key="sustained size"
    )
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
    if last and not last.active:
        show_end(last)
    if last and last.told and not last.active:
        labels = {device.name: device.label for device in last.devices}

        def name(case: Case) -> str:
            variant = " · ".join([labels.get(case.device, case.device.upper()), *case.variant.settings])
            return translate("{what} on {variant}", what=sized_name(case), variant=variant)

        st.markdown(f"**{spread.sentence(last.told, name)}**")
        frame = pd.DataFrame(
            [
                {
                    "case": name(spread.case),
                    "fastest process": si(min(spread.medians_s), "s"),
                    "slowest": si(max(spread.medians_s), "s"),
                    "between processes": f"{significant(spread.between)} ×",
                    "within one": f"{significant(spread.within)} ×",
                }
                for spread in last.told
            ]
        )
        st.dataframe(
            frame.rename(columns=translate),
            hide_index=True,
            key="spreads",
            alt=translate("Every case over the processes."),
        )


def _start(label: str, key: str, job, kind: str, planned) -> None:
    st.button(label, key=key, icon=":material/play_arrow:", on_click=begin, args=(job, kind, planned))
