"""The first page: one operation over sizes, on the CPU and on every accelerator."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import streamlit as st

from bench import verdict
from bench.analysis import Portrait, portraits
from bench.cases import SweepPlan, again
from bench.estimate import describe, sweep_outlook
from bench.export import to_json
from bench.registry import OPERATIONS
from bench.results import REFERENCE, Run
from bench.runner import Snapshot
from bench.stats import Estimate
from bench.sweep import measure
from bench.ui import charts, details, tables
from bench.ui.controls import choose_sweep, rates
from bench.ui.downloads import chart_config, show_downloads
from bench.ui.live import begin, follow, show_end, start_or_stop
from bench.ui.notices import about_devices, about_run
from bench.ui.plain import plain
from bench.ui.session import load_torch, runner
from bench.units import count, duration, si, significant, size

KIND, NOISE = "sweep", "aa"
CLOCKS = (
    "**Wall**: until the device has finished; everything else on this page is by it. **Device's own**: between two "
    "events that the device itself stamps. **Until queued**: when the call returned, the device perhaps still at work; "
    "a clock that does not wait shows this, and makes an accelerator look faster than it is."
)


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        plan = choose_sweep(snapshot)
    st.title("CPU or GPU, and from which size?")
    st.markdown(
        "Times one PyTorch operation on your CPU and your GPU over growing sizes, waits for the device "
        "before it stops the clock, and says from which size the GPU pays."
    )
    load_torch()
    _button(plan, snapshot)
    about_devices(snapshot)
    if follow(snapshot, KIND, _draw):
        return
    last = runner().last(KIND)
    if last is None:
        st.info(
            "Press **Run**. The curves grow while it measures; nothing leaves this machine.", icon=":material/info:"
        )
        return
    show_end(last)
    if last.run and last.run.outcomes:
        _results(last.run)
        _instrument(plan)


def _instrument(plan: SweepPlan | None) -> None:
    """A device against itself: how large a difference means nothing."""
    with st.expander("How good is the instrument itself?", icon=":material/balance:"):
        st.markdown(
            "Measures one device against itself, as if it were two. Whatever difference shows is the instrument's own "
            "noise on this machine now; it becomes a grey band in the speed-up chart."
        )
        if plan and not runner().snapshot.active:
            device = plan.devices[-1]
            twice = replace(plan, devices=(device, again(device)))
            st.button(
                "Measure it against itself", key="itself", icon=":material/balance:", on_click=begin,
                args=(partial(measure, twice), NOISE, twice.cases),
            )  # fmt: skip
        last = runner().last(NOISE)
        if last and last.run and not last.active:
            for sentence in verdict.of_noise(last.run):
                st.markdown(f"**{sentence}**")


def _band(run: Run) -> float:
    """The noise found last, if it was of the same operation; 1 is none."""
    last = runner().last(NOISE)
    same = last and last.run and last.run.settings["operation"] == run.settings["operation"]
    return verdict.noise_band(last.run) if same else 1.0


def _button(plan: SweepPlan | None, snapshot: Snapshot) -> None:
    if plan is None or not snapshot.devices:
        start_or_stop(snapshot, "Run", None, KIND)
        return
    outlook = sweep_outlook(plan, rates(snapshot))
    left = [case for case in plan.cases if case.size not in outlook.left_out]
    label = f"Run · {len(left)} cases · about {duration(outlook.seconds)}"
    start_or_stop(
        snapshot, label, partial(measure, plan), KIND, plan.cases, "" if left else "Nothing of this fits into memory."
    )
    if not snapshot.active:
        st.caption(f"Needs about {size(outlook.memory_bytes)} of memory. {describe(outlook)}")


def _draw(snapshot: Snapshot) -> None:
    """While it runs."""
    run = snapshot.run
    if run is None:
        return
    current = (snapshot.current, snapshot.samples_s) if snapshot.current else None
    figure = charts.time_against_size(run, _axis(run), _sizes(run), _log(), current)
    st.plotly_chart(figure, key="chart time", config=chart_config("time"), alt=_alt(run))
    if current and current[1]:
        st.caption(f"{len(current[1])} samples of the case being measured")
        strip = charts.sample_strip(current[1], current[0].device)
        st.plotly_chart(
            strip, key="chart strip", config={"displayModeBar": False}, alt="Samples of the case being measured."
        )
    tables.failures(run)


def _results(run: Run) -> None:
    """When it is over."""
    found = _portraits(to_json(run), run)
    crossings = [crossing for portrait in found.values() for crossing in portrait.crossings]
    for sentence in verdict.of_sweep(run, found):
        st.subheader(sentence, anchor=False)
    about_run(run)
    for line in verdict.doubts(run):
        st.caption(f":material/warning: {plain(line)}")
    tables.failures(run)
    if not run.measurements:
        return
    _figures(run, found)
    axis, sizes = _axis(run), _sizes(run)
    alone = run.devices == (REFERENCE,)
    names = ["Time", "Rate", "Table"] if alone else ["Time", "Speed-up", "Rate", "Clocks", "Table"]
    tabs = dict(zip(names, st.tabs(names), strict=True))
    with tabs["Time"]:
        log = _log()
        figure = charts.time_against_size(run, axis, sizes, log, crossings=crossings)
        st.plotly_chart(figure, key="chart time", config=chart_config("time"), alt=_alt(run))
    if "Speed-up" in tabs:
        with tabs["Speed-up"]:
            figure = charts.speedup_against_size(run, axis, sizes, log, _band(run), crossings)
            alt = "How many times as fast as the CPU, against size, with 95 % intervals."
            st.plotly_chart(figure, key="chart speed-up", config=chart_config("speed-up"), alt=alt)
    with tabs["Rate"]:
        quantity = st.segmented_control(
            "Quantity", ["FLOP/s", "B/s"], default="FLOP/s", required=True, key="rate", label_visibility="collapsed",
            help="Floating-point operations, or bytes of least memory traffic, a second.",
        )  # fmt: skip
        figure = charts.rate_against_size(run, axis, sizes, log, quantity)
        st.plotly_chart(figure, key="chart rates", config=chart_config("rate"), alt=f"{quantity} against size.")
    if "Clocks" in tabs:
        with tabs["Clocks"]:
            figure = details.clocks_against_size(run, axis, sizes, log)
            alt = "Time per call by three clocks: the wall, the device's own, and until the call had been queued."
            st.plotly_chart(figure, key="chart clocks", config=chart_config("clocks"), alt=alt)
            st.caption(CLOCKS)
    with tabs["Table"]:
        tables.sweep_table(run, axis)
    title = f"{OPERATIONS[str(run.settings['operation'])].title}: time per call against {axis}"
    show_downloads(run, lambda: charts.time_against_size(run, axis, sizes, log, crossings=crossings), title)


@st.cache_data(max_entries=20, show_spinner=False)
def _portraits(record: str, _run: Run) -> dict[str, Portrait]:
    """Fitting takes a moment: once for a run, which its record identifies."""
    return portraits(_run)


def _figures(run: Run, found: dict[str, Portrait]) -> None:
    """Each device in figures: at the largest size, to start a call, and moving data."""
    largest = max(m.case.size for m in run.measurements)
    with st.container(horizontal=True):
        for device, portrait in found.items():
            m = next((m for m in run.measurements if (m.case.size, m.case.device) == (largest, device)), None)
            if m and m.believed:
                _figure(
                    f"{run.label(device)} at {_axis(run)} = {count(largest)}", m.median_s, "s",
                    "Median wall time of one call, with the device waited for.", run.speedup(m),
                )  # fmt: skip
            curve = portrait.curve
            if curve and curve.describes:
                _figure(
                    f"{run.label(device)}: overhead", curve.t0, "s",
                    "What every call takes however small, from a curve fitted to all sizes: the dispatch overhead.",
                )  # fmt: skip
                _figure(
                    f"{run.label(device)}: bandwidth", curve.bandwidth, "B/s",
                    "Bytes of numbers moved a second at large sizes, from the same curve.",
                )  # fmt: skip


def _figure(name: str, estimate: Estimate, unit: str, meaning: str, speedup: Estimate | None = None) -> None:
    low, high = si(estimate.low, unit), si(estimate.high, unit) if math.isfinite(estimate.high) else "no limit"
    st.metric(
        name, si(estimate.value, unit), f"{significant(speedup.value)} times the CPU's speed" if speedup else None,
        delta_arrow="off", delta_color="off", help=f"{meaning} 95 % interval: {low} to {high}.", border=True,
    )  # fmt: skip


def _log() -> bool:
    return st.segmented_control(
        "Axes", ["log", "linear"], default="log", required=True, key="axes", label_visibility="collapsed",
        persist_state="session", bind="query-params",
        help="On logarithmic axes each step is a factor, so that small and large sizes can be read together.",
    ) == "log"  # fmt: skip


def _axis(run: Run) -> str:
    return OPERATIONS[str(run.settings["operation"])].axis


def _sizes(run: Run) -> list[int]:
    return list(run.settings["sizes"])


def _alt(run: Run) -> str:
    title, devices = OPERATIONS[str(run.settings["operation"])].title, ", ".join(map(run.label, run.devices))
    return f"{title}: median time per call against size on {devices}, with 95 % intervals. The table has the numbers."
