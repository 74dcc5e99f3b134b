"""A finished sweep: the verdict first, then figures, charts, table and files."""

from __future__ import annotations

import math
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from bench import guards, verdict
from bench.analysis import Portrait, portraits
from bench.cases import Lane
from bench.registry import OPERATIONS
from bench.results import REFERENCE, Run, title_of
from bench.stats import Estimate
from bench.ui import charts, details, tables
from bench.ui.downloads import show_downloads
from bench.ui.drawn import show_chart
from bench.ui.explore import show_any_axis
from bench.ui.notices import about_doubts, about_run, headlines
from bench.ui.plain import plain
from bench.units import count, si, significant
from bench.words import phrase, retold, say

MOST_LANES = 4
TABS = ("Time", "Speed-up", "Rate", "Roofline", "Samples", "Clocks", "Any axis", "Table")
AXES = ("log", "linear")
ROOFLINE = phrase(
    "Left, a device is held up by its memory (the slope), right by its arithmetic (the flat part). A point far below "
    "both lines is held up by something else, at small sizes by starting the call. Dashed lines are ceilings: "
    "*published* ones come from vendors or are derived from cores and clock; a *copy measured here* is what moving "
    "data reached before the run, which caches may exceed."
)
CLOCKS = phrase(
    "**Wall**: until the device has finished; everything else on this page is by it. **Device's own**: between two "
    "events that the device itself stamps. **Until queued**: when the call returned, the device perhaps still at work; "
    "a clock that does not wait shows this, and makes an accelerator look faster than it is."
)


def show_sweep(run: Run, band: float = 1.0) -> None:
    """Everything of a sweep that is over; ``band`` is the factor by which a device differed from itself."""
    _, found = _portraits(run)
    crossings = [crossing for portrait in found.values() for crossing in portrait.crossings]
    headlines(verdict.of_sweep(run, found))
    own_roofs = guards.roofs(run)
    for sentence in verdict.of_portraits(run, found, own_roofs):
        st.markdown(plain(sentence))
    about_run(run)
    about_doubts(run)
    tables.failures(run)
    if not run.measurements:
        return
    _figures(run, found)
    if verdict.is_sustained(run):
        alt = say("Calls a second against time: a level line is a device that keeps its speed.")
        show_chart(run, "sustained", partial(details.speed_over_time, run), alt=alt)
    axis, sizes = axis_of(run), sizes_of(run)
    names = list(TABS)
    if len(run.lanes) < 2:
        names.remove("Speed-up")
    if run.devices == (REFERENCE,):
        names.remove("Clocks")
    tabs = dict(zip(names, st.tabs([*map(say, names)]), strict=True))
    with tabs["Time"]:
        log = log_axes()
        times = partial(charts.time_against_size, run, axis, sizes, log, crossings=crossings)
        event = show_chart(run, "time", times, log, alt=alt_text(run), on_select="rerun", selection_mode="points")
        st.caption(say("Click a point to see its samples."))
    if "Speed-up" in tabs:
        with tabs["Speed-up"]:
            alt = say("How many times as fast as the CPU, against size, with 95 % intervals.")
            build = partial(charts.speedup_against_size, run, axis, sizes, log, band, crossings)
            show_chart(run, "speed-up", build, log, band, alt=alt)
    with tabs["Rate"]:
        quantity = st.segmented_control(
            say("Quantity"),
            ["FLOP/s", "B/s"],
            default="FLOP/s",
            required=True,
            key="rate",
            label_visibility="collapsed",
            help=say("Floating-point operations, or bytes of least memory traffic, a second."),
        )
        roofs = [*own_roofs, *_published()]
        named = tuple(roof.name for roof in roofs)

        def rates() -> go.Figure:
            figure = charts.rate_against_size(run, axis, sizes, log, quantity)
            details.add_roofs(figure, roofs, quantity)
            return figure

        alt = say("{quantity} against size.", quantity=quantity)
        show_chart(run, "rates", rates, log, quantity, named, alt=alt, file="rate")
    with tabs["Roofline"]:
        _roofline(run, roofs)
    with tabs["Samples"]:
        _samples(run, event)
    if "Clocks" in tabs:
        with tabs["Clocks"]:
            alt = say("Time per call by three clocks: the wall, the device's own, and until the call had been queued.")
            show_chart(run, "clocks", partial(details.clocks_against_size, run, axis, sizes, log), log, alt=alt)
            st.caption(say(CLOCKS))
    with tabs["Any axis"]:
        show_any_axis(run, "any")
    with tabs["Table"]:
        tables.sweep_table(run, axis)
    title = say("{title}: time per call against {axis}", title=_title(run), axis=axis)
    show_downloads(run, times, title)


def _published() -> list[guards.Roof]:
    """Ceilings of Apple's chips, laid over the figures if wanted."""
    chips = st.pills(
        say("Published ceilings to lay over"), list(guards.apple_chips()), key="chips", selection_mode="multi",
        help=say("Memory bandwidth by the vendor, FLOP/s derived from cores and clock; sources in bench/reference."),
    )  # fmt: skip
    return [guards.chip_roof(chip) for chip in chips]


def _roofline(run: Run, roofs: list[guards.Roof]) -> None:
    if not any(m.believed and m.cost.flops for m in run.measurements):
        st.info(say("This operation computes nothing, it only moves data: look at its rate in B/s."))
        return
    alt = say("Floating-point operations a second against operations per byte, below the devices' ceilings.")
    named = tuple(roof.name for roof in roofs)
    show_chart(run, "roofline", partial(details.roofline, run, roofs), named, alt=alt)
    st.caption(say(ROOFLINE))


def _samples(run: Run, event: object) -> None:
    """The case whose point was clicked, or chosen from the list."""
    names = {
        say("{what} on {lane}", what=f"{axis_of(run)} = {count(m.case.size)}", lane=run.name(m.case.lane)): m
        for m in run.measurements
    }
    points = event.selection.points if event else ()
    clicked = {point.get("x") for point in points}
    order = sorted(names, key=lambda name: names[name].case.size not in clicked)  # stable: the clicked one first
    chosen = names[st.selectbox(say("Case"), order, key=f"case {sorted(map(str, clicked))}")]
    name = run.name(chosen.case.lane)
    alt = say("Every sample of the case in the order taken, and how they are distributed.")
    show_chart(run, "samples", partial(details.samples_of, chosen, name), str(chosen.case), alt=alt)
    mid = chosen.median_s
    st.caption(
        say(
            "{samples} samples in {rounds} rounds, {calls} calls each. Median "
            "{median} ({low} to {high}, 95 %), the grey band. "
            "{disturbed} blocks were disturbed and measured again. {status}.",
            samples=len(chosen.samples_s),
            rounds=len(chosen.rounds),
            calls=chosen.calls,
            median=si(mid.value, "s"),
            low=si(mid.low, "s"),
            high=si(mid.high, "s"),
            disturbed=chosen.disturbed,
            status=say(chosen.status),
        )
        + f" {plain(retold(chosen.reason))}"
    )


@st.cache_resource(max_entries=20, show_spinner=False, hash_funcs={Run: id})
def _portraits(run: Run) -> tuple[Run, dict[Lane, Portrait]]:
    """Fitting takes a moment: once for a run, which is kept with it, so that no other can have its id."""
    return run, portraits(run)


def _figures(run: Run, found: dict[Lane, Portrait]) -> None:
    """Each device in figures: at the largest size, to start a call, and moving data. Many lanes are for the table."""
    if len(found) > MOST_LANES:
        return
    largest = max(m.case.size for m in run.measurements)
    with st.container(horizontal=True):
        for lane, portrait in found.items():
            name = run.name(lane)
            m = next((m for m in run.measurements if (m.case.size, m.case.lane) == (largest, lane)), None)
            if m and m.believed:
                _figure(
                    say("{name} at {where}", name=name, where=f"{axis_of(run)} = {count(largest)}"), m.median_s, "s",
                    say("Median wall time of one call, with the device waited for."), run.speedup(m),
                )  # fmt: skip
            curve = portrait.curve
            if curve and curve.describes:
                _figure(
                    say("{name}: overhead", name=name), curve.t0, "s",
                    say("What every call takes however small, from a curve fitted to all sizes: the dispatch "
                        "overhead."),
                )  # fmt: skip
                _figure(
                    say("{name}: bandwidth", name=name), curve.bandwidth, "B/s",
                    say("Bytes of numbers moved a second at large sizes, from the same curve."),
                )  # fmt: skip


def _figure(name: str, estimate: Estimate, unit: str, meaning: str, speedup: Estimate | None = None) -> None:
    low, high = si(estimate.low, unit), si(estimate.high, unit) if math.isfinite(estimate.high) else say("no limit")
    st.metric(
        name,
        si(estimate.value, unit),
        say("{factor} times the CPU's speed", factor=significant(speedup.value)) if speedup else None,
        delta_arrow="off",
        delta_color="off",
        help=f"{meaning} " + say("95 % interval: {low} to {high}.", low=low, high=high),
        border=True,
    )


def log_axes() -> bool:
    return (
        st.segmented_control(
            say("Axes"),
            AXES,
            format_func=say,
            default="log",
            required=True,
            key="axes",
            label_visibility="collapsed",
            persist_state="session",
            bind="query-params",
            help=say("On logarithmic axes each step is a factor, so that small and large sizes can be read together."),
        )
        == "log"
    )


def _title(run: Run) -> str:
    return title_of(str(run.settings["operation"]))


def axis_of(run: Run) -> str:
    return OPERATIONS[str(run.settings["operation"])].axis


def sizes_of(run: Run) -> list[int]:
    return list(run.settings["sizes"])


def alt_text(run: Run) -> str:
    devices = ", ".join(map(run.label, run.devices))
    return say(
        "{title}: median time per call against size on {devices}, with 95 % intervals. The table has the numbers.",
        title=_title(run),
        devices=devices,
    )
