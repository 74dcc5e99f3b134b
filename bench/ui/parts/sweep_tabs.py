"""The tabs of a finished sweep: a small function each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import plotly.graph_objects as go
import streamlit as st

from bench.machine import ceilings
from bench.records.run import REFERENCE, Run
from bench.stats.crossover import Crossing
from bench.text.language import translatable, translate
from bench.text.names import variant_name, workload_name
from bench.text.tell import tell
from bench.text.units import count, si
from bench.ui.charts import roofline_chart, sample_charts, sweep_charts
from bench.ui.parts import tables
from bench.ui.parts.chart_cache import show_chart, show_clickable_chart
from bench.ui.parts.explore import show_any_axis
from bench.ui.parts.plain import plain
from bench.workloads.operations import OPERATIONS

if TYPE_CHECKING:  # a name that Streamlit may move
    from streamlit.elements.plotly_chart import PlotlyState

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


@dataclass(frozen=True)
class Sweep:
    """A finished sweep and what all of its tabs share."""

    run: Run
    axis: str
    sizes: list[int]
    crossings: list[Crossing]
    roofs: list[ceilings.Roof]  # its own devices', without those that are laid over
    band: float  # the factor by which a device differed from itself

    def times(self, log: bool) -> partial[go.Figure]:
        """Builds the first chart, which is also the one that can be taken away."""
        return partial(sweep_charts.time_against_size, self.run, self.axis, self.sizes, log, crossings=self.crossings)


def show_tabs(sweep: Sweep) -> bool:
    """A tab for each way to look at it. Are the axes logarithmic, which is chosen in the first and holds for all?"""
    run, names = sweep.run, list(TABS)
    if len(run.variants) < 2:
        names.remove("Speed-up")
    if run.devices == (REFERENCE,):
        names.remove("Clocks")
    tabs = dict(zip(names, st.tabs([*map(translate, names)]), strict=True))
    with tabs["Time"]:
        log = log_axes()
        event = _times(sweep, log)
    if "Speed-up" in tabs:
        with tabs["Speed-up"]:
            _speedups(sweep, log)
    with tabs["Rate"]:
        roofs = _rates(sweep, log)
    with tabs["Roofline"]:
        _roofline(run, roofs)
    with tabs["Samples"]:
        _samples(run, event)
    if "Clocks" in tabs:
        with tabs["Clocks"]:
            _clocks(sweep, log)
    with tabs["Any axis"]:
        show_any_axis(run, "any")
    with tabs["Table"]:
        tables.sweep_table(run, sweep.axis)
    return log


def _times(sweep: Sweep, log: bool) -> PlotlyState:
    """What was clicked is returned."""
    run = sweep.run
    event = show_clickable_chart(run, "time", sweep.times(log), log, alt=alt_text(run))
    st.caption(translate("Click a point to see its samples."))
    return event


def _speedups(sweep: Sweep, log: bool) -> None:
    alt = translate("How many times as fast as the CPU, against size, with 95 % intervals.")
    build = partial(
        sweep_charts.speedup_against_size, sweep.run, sweep.axis, sweep.sizes, log, sweep.band, sweep.crossings
    )
    show_chart(sweep.run, "speed-up", build, log, sweep.band, alt=alt)


def _rates(sweep: Sweep, log: bool) -> list[ceilings.Roof]:
    """With ceilings, which are returned: the devices' own, and those chosen to be laid over."""
    quantity = st.segmented_control(
        translate("Quantity"),
        ["FLOP/s", "B/s"],
        default="FLOP/s",
        required=True,
        key="rate",
        label_visibility="collapsed",
        help=translate("Floating-point operations, or bytes of least memory traffic, a second."),
    )
    roofs = [*sweep.roofs, *_published()]

    def build() -> go.Figure:
        figure = sweep_charts.rate_against_size(sweep.run, sweep.axis, sweep.sizes, log, quantity)
        roofline_chart.add_roofs(figure, roofs, quantity)
        return figure

    alt = translate("{quantity} against size.", quantity=quantity)
    show_chart(sweep.run, "rates", build, log, quantity, _names(roofs), alt=alt, file="rate")
    return roofs


def _names(roofs: list[ceilings.Roof]) -> tuple[str, ...]:
    """What tells one set of ceilings from another."""
    return tuple(tell(roof.basis) for roof in roofs)


def _clocks(sweep: Sweep, log: bool) -> None:
    alt = translate("Time per call by three clocks: the wall, the device's own, and until the call had been queued.")
    build = partial(sample_charts.clocks_against_size, sweep.run, sweep.axis, sweep.sizes, log)
    show_chart(sweep.run, "clocks", build, log, alt=alt)
    st.caption(translate(CLOCKS))


def _published() -> list[ceilings.Roof]:
    """Ceilings of Apple's chips, laid over the figures if wanted."""
    chips = st.pills(
        translate("Published ceilings to lay over"),
        list(ceilings.apple_chips()),
        key="chips",
        selection_mode="multi",
        help=translate(
            "Memory bandwidth by the vendor, FLOP/s derived from cores and clock; sources in "
            "bench/machine/apple-chips.md."
        ),
    )
    return [ceilings.chip_roof(chip) for chip in chips]


def _roofline(run: Run, roofs: list[ceilings.Roof]) -> None:
    if not any(m.believed and m.cost.flops for m in run.measurements):
        st.info(translate("This operation computes nothing, it only moves data: look at its rate in B/s."))
        return
    alt = translate("Floating-point operations a second against operations per byte, below the devices' ceilings.")
    show_chart(run, "roofline", partial(roofline_chart.roofline, run, roofs), _names(roofs), alt=alt)
    st.caption(translate(ROOFLINE))


def _samples(run: Run, event: PlotlyState) -> None:
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
    # Streamlit's types, read for Python 3.10, call every choice from a list None
    name_chosen = cast(str, st.selectbox(translate("Case"), order, key=f"case {sorted(map(str, clicked))}"))
    chosen = names[name_chosen]
    name = variant_name(run, chosen.case.variant)
    alt = translate("Every sample of the case in the order taken, and how they are distributed.")
    show_chart(run, "samples", partial(sample_charts.samples_of, chosen, name), str(chosen.case), alt=alt)
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
        + f" {plain(tell(chosen.reason))}"
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


def title_of(run: Run) -> str:
    return workload_name(str(run.settings["operation"]))


def axis_of(run: Run) -> str:
    return OPERATIONS[str(run.settings["operation"])].axis


def alt_text(run: Run) -> str:
    devices = ", ".join(map(run.label, run.devices))
    return translate(
        "{title}: median time per call against size on {devices}, with 95 % intervals. The table has the numbers.",
        title=title_of(run),
        devices=devices,
    )
