"""A finished sweep: the verdict first, then figures, charts, table and files."""

from __future__ import annotations

import math
from functools import partial

import streamlit as st

from bench.analysis import sweep_verdict
from bench.analysis.fits import SweepFit, sweep_fits
from bench.machine import ceilings
from bench.records.case import Variant
from bench.records.run import Run
from bench.stats.estimate import Estimate
from bench.text.language import translate
from bench.text.names import variant_name
from bench.text.tell import tell
from bench.text.units import count, si, significant
from bench.ui.charts import sample_charts
from bench.ui.charts.base import sizes_of
from bench.ui.parts import tables
from bench.ui.parts.chart_cache import show_chart
from bench.ui.parts.downloads import show_downloads
from bench.ui.parts.notices import about_caveats, about_run, headlines
from bench.ui.parts.plain import plain
from bench.ui.parts.sweep_tabs import Sweep, axis_of, show_tabs, title_of

MOST_VARIANTS = 4


def show_sweep(run: Run, band: float = 1.0) -> None:
    """Everything of a sweep that is over; ``band`` is the factor by which a device differed from itself."""
    _, found = _fits(run)
    roofs = ceilings.roofs(run)
    headlines(sweep_verdict.of_sweep(run, found))
    for sentence in sweep_verdict.of_fits(run, found, roofs):
        st.markdown(plain(tell(sentence)))
    about_run(run)
    about_caveats(run)
    tables.failures(run)
    if not run.measurements:
        return
    _figures(run, found)
    if sweep_verdict.is_sustained(run):
        alt = translate("Calls a second against time: a level line is a device that keeps its speed.")
        show_chart(run, "sustained", partial(sample_charts.speed_over_time, run), alt=alt)
    crossings = [crossing for sweep_fit in found.values() for crossing in sweep_fit.crossings]
    sweep = Sweep(run, axis_of(run), sizes_of(run), crossings, roofs, band)
    log = show_tabs(sweep)
    title = translate("{title}: time per call against {axis}", title=title_of(run), axis=sweep.axis)
    show_downloads(run, sweep.times(log), title)


@st.cache_resource(max_entries=20, show_spinner=False, hash_funcs={Run: id})
def _fits(run: Run) -> tuple[Run, dict[Variant, SweepFit]]:
    """Fitting takes a moment: once for a run, which is kept with it, so that no other can have its id."""
    return run, sweep_fits(run)


def _figures(run: Run, found: dict[Variant, SweepFit]) -> None:
    """Each device in figures: at the largest size, to start a call, and moving data. Many are for the table."""
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
