"""The first page: one operation over sizes, on the CPU and on every accelerator."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench.analysis import sweep_verdict
from bench.measure.forecast import omissions, sweep_forecast
from bench.measure.job import Snapshot
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.records.run import Run
from bench.text.language import translate
from bench.text.tell import tell
from bench.text.units import duration, size
from bench.ui.charts import sweep_charts
from bench.ui.charts.base import sizes_of
from bench.ui.parts import tables
from bench.ui.parts.controls import rates
from bench.ui.parts.downloads import chart_config
from bench.ui.parts.experiments import NOISE, show_experiments
from bench.ui.parts.live import begin, follow, show_end, start_or_stop
from bench.ui.parts.notices import about_devices
from bench.ui.parts.plain import plain
from bench.ui.parts.preset_buttons import ask, asked
from bench.ui.parts.presets import OPERATIONS_PAGE
from bench.ui.parts.session import load_torch, runner
from bench.ui.parts.sweep_controls import choose_sweep
from bench.ui.parts.sweep_tabs import alt_text, axis_of, log_axes
from bench.ui.parts.sweep_view import show_sweep

KIND = "sweep"


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        plan = choose_sweep(snapshot)
    st.markdown(
        translate(
            "Times one PyTorch operation on your CPU and your GPU over growing sizes, waits for the device "
            "before it stops the clock, and says from which size the GPU pays."
        )
    )
    load_torch()
    _button(plan, snapshot)
    about_devices(snapshot)
    ask(snapshot, OPERATIONS_PAGE)
    if follow(snapshot, KIND, _draw):
        return
    last = runner().last(KIND)
    if last is None:
        st.info(
            translate(
                "Press **Run**. The curves grow while it measures; nothing leaves this machine. What a finished run "
                "looks like is on the page **Recorded runs**."
            ),
            icon=":material/info:",
        )
    else:
        show_end(last)
        if last.run and last.run.outcomes:
            show_sweep(last.run, _band(last.run))
    show_experiments(plan, snapshot)


def _button(plan: SweepPlan | None, snapshot: Snapshot) -> None:
    if plan is None or not snapshot.devices:
        start_or_stop(snapshot, translate("Run"), None, KIND)
        return
    forecast = sweep_forecast(plan, rates(snapshot))
    left = [case for case in plan.cases if case.size not in forecast.left_out]
    label = translate("Run · {cases} cases · about {time}", cases=len(left), time=duration(forecast.seconds))
    job = partial(measure, plan)
    if left and not snapshot.active and asked(OPERATIONS_PAGE):
        begin(job, KIND, plan.cases)
        st.rerun()
    start_or_stop(
        snapshot, label, job, KIND, plan.cases, "" if left else translate("Nothing of this fits into memory.")
    )
    if not snapshot.active:
        needs = translate("Needs about {memory} of memory.", memory=size(forecast.memory_bytes))
        st.caption(" ".join([needs, *(plain(tell(reason)) for reason in omissions(forecast))]))


def _band(run: Run) -> float:
    """The noise found last, if it was of the same operation; 1 is none."""
    last = runner().last(NOISE)
    if last and last.run and last.run.settings["operation"] == run.settings["operation"]:
        return sweep_verdict.noise_band(last.run)
    return 1.0


def _draw(snapshot: Snapshot) -> None:
    """While it runs."""
    run = snapshot.run
    if run is None:
        return
    current = (snapshot.current, snapshot.samples_s) if snapshot.current else None
    figure = sweep_charts.time_against_size(run, axis_of(run), sizes_of(run), log_axes(), current)
    st.plotly_chart(figure, key="chart time", config=chart_config("time"), alt=alt_text(run))
    if current and current[1]:
        st.caption(translate("{number} samples of the case being measured", number=len(current[1])))
        strip = sweep_charts.sample_strip(current[1], current[0].device)
        st.plotly_chart(
            strip,
            key="chart strip",
            config={"displayModeBar": False},
            alt=translate("Samples of the case being measured."),
        )
    tables.failures(run)
