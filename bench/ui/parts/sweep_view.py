"""A finished sweep: the verdict first, then figures, charts, table and files."""

from __future__ import annotations

import math
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from bench.analysis import sweep_verdict
from bench.analysis.fits import SweepFit, sweep_fits
from bench.machine import ceilings
from bench.records.case import Variant
from bench.records.run import REFERENCE, Run
from bench.stats.estimate import Estimate
from bench.text.language import retold, translatable, translate
from bench.text.names import variant_name, workload_name
from bench.text.units import count, si, significant
from bench.ui.charts import details, sweep_charts
from bench.ui.parts import tables
from bench.ui.parts.downloads import show_downloads
from bench.ui.parts.drawn import show_chart
from bench.ui.parts.explore import show_any_axis
from bench.ui.parts.notices import about_caveats, about_run, headlines
from bench.ui.parts.plain import plain
from bench.workloads.operations import OPERATIONS

MOST_VARIANTS = 4
TABS = ("Time", "Speed-up", "Rate", "Roofline", "Samples", "Clocks", "Any axis", "Table")
AXES = ("log", "linear")
ROOFLINE = translatable(
    "Left, a device is held up by its memory (the slope), right by its arithmetic (the flat part). A point far below "
    "both lines is held up by something else, at small sizes by starting the call. Dashed lines are ceilings: "
    "*published* ones come from vendors or are derived from cores and clock; a *copy measured here* is what moving "
    "data reached before the run, which caches may exceed."
)
CLOCKS = translatable(
    "**Wall**: until the device has finished; everything else on this page is by it. **Device's own**: between two "
    "events that the device itself stamps. **Until queued**: when the call returned, the device perhaps still at work; "
    "a clock that does not wait shows this, and makes an accelerator look faster than it is."
)


def show_sweep(run: Run, band: float = 1.0) -> None:
    """Everything of a sweep that is over; ``band`` is the factor by which a device differed from itself."""
    _, found = _fits(run)
    crossings = [crossing for sweep_fit in found.values() for crossing in sweep_fit.crossings]
    headlines(sweep_verdict.of_sweep(run, found))
    own_roofs = ceilings.roofs(run)
    for sentence in sweep_verdict.of_fits(run, found, own_roofs):
        st.markdown(plain(sentence))
    about_run(run)
    about_caveats(run)
    tables.failures(run)
    if not run.measurements:
        return
    _figures(run, found)
    if sweep_verdict.is_sustained(run):
        alt = translate("Calls a second against time: a level line is a device that keeps its speed.")
        show_chart(run, "sustained", partial(details.speed_over_time, run), alt=alt)
    axis, sizes = axis_of(run), sizes_of(run)
    names = list(TABS)
    if len(run.variants) < 2:
        names.remove("Speed-up")
    if run.devices == (REFERENCE,):
        names.remove("Clocks")
    tabs = dict(zip(names, st.tabs([*map(translate, names)]), strict=True))
    with tabs["Time"]:
        log = log_axes()
        times = partial(sweep_charts.time_against_size, run, axis, sizes, log, crossings=crossings)
        event = show_chart(run, "time", times, log, alt=alt_text(run), on_select="rerun", selection_mode="points")
        st.caption(translate("Click a point to see its samples."))
    if "Speed-up" in tabs:
        with tabs["Speed-up"]:
            alt = translate("How many times as fast as the CPU, against size, with 95 % intervals.")
            build = partial(sweep_charts.speedup_against_size, run, axis, sizes, log, band, crossings)
            show_chart(run, "speed-up", build, log, band, alt=alt)
    with tabs["Rate"]:
        quantity = st.segmented_control(
            translate("Quantity"),
            ["FLOP/s", "B/s"],
            default="FLOP/s",
            required=True,
            key="rate",
            label_visibility="collapsed",
            help=translate("Floating-point operations, or bytes of least memory traffic, a second."),
        )
        roofs = [*own_roofs, *_published()]
        named = tuple(roof.name for roof in roofs)

        def rates() -> go.Figure:
            figure = sweep_charts.rate_against_size(run, axis, sizes, log, quantity)
            details.add_roofs(figure, roofs, quantity)
            return figure

        alt = translate("{quantity} against size.", quantity=quantity)
        show_chart(run, "rates", rates, log, quantity, named, alt=alt, file="rate")
    with tabs["Roofline"]:
        _roofline(run, roofs)
    with tabs["Samples"]:
        _samples(run, event)
    if "Clocks" in tabs:
        with tabs["Clocks"]:
            alt = translate(
                "Time per call by three clocks: the wall, the device's own, and until the call had been queued."
            )
            show_chart(run, "clocks", partial(details.clocks_against_size, run, axis, sizes, log), log, alt=alt)
            st.caption(translate(CLOCKS))
    with tabs["Any axis"]:
        show_any_axis(run, "any")
    with tabs["Table"]:
        tables.sweep_table(run, axis)
    title = translate("{title}: time per call against {axis}", title=_title(run), axis=axis)
    show_downloads(run, times, title)


def _published() -> list[ceilings.Roof]:
    """Ceilings of Apple's chips, laid over the figures if wanted."""
    chips = st.pills(
        translate("Published ceilings to lay over"),
        list(ceilings.apple_chips()),
        key="chips",
        selection_mode="multi",
        help=translate(
            "Memory bandwidth by the vendor, FLOP/s derived from cores and clock; sources in bench/machine/apple-chips.md."
        ),
    )
    return [ceilings.chip_roof(chip) for chip in chips]


def _roofline(run: Run, roofs: list[ceilings.Roof]) -> None:
    if not any(m.believed and m.cost.flops for m in run.measurements):
        st.info(translate("This operation computes nothing, it only moves data: look at its rate in B/s."))
        return
    alt = translate("Floating-point operations a second against operations per byte, below the devices' ceilings.")
    named = tuple(roof.name for roof in roofs)
    show_chart(run, "roofline", partial(details.roofline, run, roofs), named, alt=alt)
    st.caption(translate(ROOFLINE))


def _samples(run: Run, event: object) -> None:
    """The case whose point was clicked, or chosen from the list."""
    names = {
        translate(
            "{what} on {variant}",
            what=f"{axis_of(run)} = {count(m.case.size)}",
            variant=variant_name(run, m.case.variant),
        ): m
        for m in run.measurements
    }
    points = event.selection.points if event else ()
    clicked = {point.get("x") for point in points}
    order = sorted(names, key=lambda name: names[name].case.size not in clicked)  # stable: the clicked one first
    chosen = names[st.selectbox(translate("Case"), order, key=f"case {sorted(map(str, clicked))}")]
    name = variant_name(run, chosen.case.variant)
    alt = translate("Every sample of the case in the order taken, and how they are distributed.")
    show_chart(run, "samples", partial(details.samples_of, chosen, name), str(chosen.case), alt=alt)
    mid = chosen.median_s
    st.caption(
        translate(
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
            status=translate(chosen.status),
        )
        + f" {plain(retold(chosen.reason))}"
    )


@st.cache_resource(max_entries=20, show_spinner=False, hash_funcs={Run: id})
def _fits(run: Run) -> tuple[Run, dict[Variant, SweepFit]]:
    """Fitting takes a moment: once for a run, which is kept with it, so that no other can have its id."""
    return run, sweep_fits(run)


def _figures(run: Run, found: dict[Variant, SweepFit]) -> None:
    """Each device in figures: at the largest size, to start a call, and moving data. Many variants are for the table."""
    if len(found) > MOST_VARIANTS:
        return
    largest = max(m.case.size for m in run.measurements)
    with st.container(horizontal=True):
        for variant, sweep_fit in found.items():
            name = variant_name(run, variant)
            m = next((m for m in run.measurements if (m.case.size, m.case.variant) == (largest, variant)), None)
            if m and m.believed:
                _figure(
                    translate("{name} at {where}", name=name, where=f"{axis_of(run)} = {count(largest)}"),
                    m.median_s,
                    "s",
                    translate("Median wall time of one call, with the device waited for."),
                    run.speedup(m),
                )
            curve = sweep_fit.curve
            if curve and curve.describes:
                _figure(
                    translate("{name}: overhead", name=name),
                    curve.t0,
                    "s",
                    translate(
                        "What every call takes however small, from a curve fitted to all sizes: the dispatch overhead."
                    ),
                )
                _figure(
                    translate("{name}: bandwidth", name=name),
                    curve.bandwidth,
                    "B/s",
                    translate("Bytes of numbers moved a second at large sizes, from the same curve."),
                )


def _figure(name: str, estimate: Estimate, unit: str, meaning: str, speedup: Estimate | None = None) -> None:
    low, high = (
        si(estimate.low, unit),
        si(estimate.high, unit) if math.isfinite(estimate.high) else translate("no limit"),
    )
    st.metric(
        name,
        si(estimate.value, unit),
        translate("{factor} times the CPU's speed", factor=significant(speedup.value)) if speedup else None,
        delta_arrow="off",
        delta_color="off",
        help=f"{meaning} " + translate("95 % interval: {low} to {high}.", low=low, high=high),
        border=True,
    )


def log_axes() -> bool:
    return (
        st.segmented_control(
            translate("Axes"),
            AXES,
            format_func=translate,
            default="log",
            required=True,
            key="axes",
            label_visibility="collapsed",
            persist_state="session",
            bind="query-params",
            help=translate(
                "On logarithmic axes each step is a factor, so that small and large sizes can be read together."
            ),
        )
        == "log"
    )


def _title(run: Run) -> str:
    return workload_name(str(run.settings["operation"]))


def axis_of(run: Run) -> str:
    return OPERATIONS[str(run.settings["operation"])].axis


def sizes_of(run: Run) -> list[int]:
    return list(run.settings["sizes"])


def alt_text(run: Run) -> str:
    devices = ", ".join(map(run.label, run.devices))
    return translate(
        "{title}: median time per call against size on {devices}, with 95 % intervals. The table has the numbers.",
        title=_title(run),
        devices=devices,
    )
