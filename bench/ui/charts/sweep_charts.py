"""Figures of a sweep against size: times, speed-ups, rates. Pure functions from results to Plotly: no state."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from bench import stats
from bench.records.case import Case, Variant
from bench.records.measurement import Measurement
from bench.records.run import Run
from bench.stats.crossover import Crossing
from bench.text.language import translate
from bench.text.names import variant_name
from bench.text.tell import tell
from bench.text.units import count, si, significant, span
from bench.ui.charts.base import (
    COLORS,
    dash_of,
    equality,
    error_bars,
    finished,
    points_of,
    size_axis,
    time_axis,
    variants_of,
)
from bench.ui.parts.plain import escaped

STRIP = 300  # samples shown of the case being measured
# Nothing moves on the page while a block is timed, so nothing here is animated.


def time_against_size(
    run: Run,
    axis: str,
    planned: Sequence[int],
    log: bool,
    current: tuple[Case, tuple[float, ...]] | None = None,
    crossings: Sequence[Crossing] = (),
) -> go.Figure:
    """Median time a call against size, one line a device, 95 % intervals.

    ``current`` is the case being measured, shown hollow; ``crossings`` are marked with their intervals.
    """
    figure = go.Figure()
    for variant in variants_of(run):
        points = points_of(run, variant)
        mids = [m.median_s for m in points]
        _line(figure, run, variant, [m.case.size for m in points], mids, [_hover(run, m) for m in points])
    _struck_out(figure, run)
    _mark(figure, crossings, log)
    if current and current[1]:
        case, samples = current
        figure.add_scatter(
            x=[case.size],
            y=[stats.median(samples).value],
            mode="markers",
            showlegend=False,
            marker={"symbol": "circle-open", "size": 13, "color": COLORS.get(case.device), "line": {"width": 2}},
            hovertemplate="being measured<extra></extra>",
        )
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(title=translate("time per call"), **time_axis(log))
    return finished(figure, run)


def speedup_against_size(
    run: Run, axis: str, planned: Sequence[int], log: bool, band: float = 1.0, crossings: Sequence[Crossing] = ()
) -> go.Figure:
    """How many times faster than the CPU, with its interval; the line at 1 is equality.

    ``band`` is the factor by which a device differed from itself: inside it a speed-up means nothing.
    """
    figure = go.Figure()
    for variant in run.variants:
        points = [(m, s) for m in points_of(run, variant) if (s := run.speedup(m))]
        if points:
            sizes, hover = [m.case.size for m, _ in points], [_hover(run, m) for m, _ in points]
            _line(figure, run, variant, sizes, [s for _, s in points], hover)
    if band > 1:
        figure.add_hrect(y0=1 / band, y1=band, fillcolor="#888", opacity=0.2, line_width=0)
    equality(figure, log)
    _mark(figure, crossings, log)
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(
        title=translate("times as fast as {other}", other=variant_name(run, run.reference_variant)),
        type="log" if log else "linear",
        ticksuffix=" ×",
    )
    return finished(figure, run)


def rate_against_size(run: Run, axis: str, planned: Sequence[int], log: bool, quantity: str) -> go.Figure:
    """FLOP/s or B/s against size; ``quantity`` is "FLOP/s" or "B/s"."""
    figure = go.Figure()
    for variant in run.variants:
        points = points_of(run, variant)
        rates = [m.flops_per_s if quantity == "FLOP/s" else m.bytes_per_s for m in points]
        hover = [_hover(run, m, si(rate.value, quantity)) for m, rate in zip(points, rates, strict=True)]
        _line(figure, run, variant, [m.case.size for m in points], rates, hover)
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(title=quantity, type="log" if log else "linear", exponentformat="SI", ticksuffix=quantity)
    return finished(figure, run)


def sample_strip(samples: Sequence[float], device: str) -> go.Figure:
    """The latest samples of the case being measured, in the order taken."""
    shown = samples[-STRIP:]
    first = len(samples) - len(shown) + 1
    figure = go.Figure()
    figure.add_scatter(
        x=list(range(first, first + len(shown))),
        y=shown,
        mode="markers",
        marker={"size": 4, "color": COLORS.get(device)},
        hovertemplate="sample %{x}: %{y:.3s}s<extra></extra>",
    )
    figure.update_xaxes(title=None, showgrid=False)
    figure.update_yaxes(title=None, exponentformat="SI", ticksuffix="s", nticks=4)
    figure.update_layout(height=130, margin={"l": 70, "r": 10, "t": 5, "b": 20}, uirevision="strip", showlegend=False)
    return figure


def _mark(figure: go.Figure, crossings: Sequence[Crossing], log: bool) -> None:
    """Crossovers as vertical bands from one end of the interval to the other."""
    for size, _ in crossings:
        figure.add_vrect(x0=size.low, x1=size.high, fillcolor="#888", opacity=0.15, line_width=0)
        figure.add_vline(x=size.value, line_dash="dot", line_color="#888")
    for size, _ in crossings[:1]:  # several labels would run into one another
        figure.add_annotation(  # on a log axis a text goes by the logarithm, a line by the value
            text=translate("crossover"),
            x=math.log10(size.value) if log else size.value,
            y=0,
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"color": "#888"},
        )


def _struck_out(figure: go.Figure, run: Run) -> None:
    """Wrong and impossible cases: a cross in the device's colour, on no line, with the reason."""
    wrong = [m for m in run.measurements if not m.believed]
    if wrong:
        figure.add_scatter(
            x=[m.case.size for m in wrong],
            y=[m.median_s.value for m in wrong],
            mode="markers",
            name=translate("struck out"),
            marker={"symbol": "x", "size": 12, "color": [COLORS.get(m.case.device, "#888") for m in wrong]},
            customdata=[escaped(f"{variant_name(run, m.case.variant)}: {tell(m.reason)}") for m in wrong],
            hovertemplate="<b>%{x}</b>, struck out<br>%{customdata}<extra></extra>",
        )


def _line(figure, run: Run, variant: Variant, sizes, estimates: Sequence[stats.Estimate], hover: list[str]) -> None:
    figure.add_scatter(
        x=sizes,
        y=[e.value for e in estimates],
        name=variant_name(run, variant),
        mode="lines+markers",
        line={"color": COLORS.get(variant.device), "width": 2, "dash": dash_of(run, variant)},
        marker={"size": 8},
        error_y=error_bars(estimates),
        customdata=hover,
        hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
    )


def _hover(run: Run, m: Measurement, more: str = "") -> str:
    mid, speedup = m.median_s, run.speedup(m)
    lines = [f"<b>{count(m.case.size)}</b>: {si(mid.value, 's')} ({si(mid.low, 's')} to {si(mid.high, 's')})"]
    if speedup:
        factor = significant(speedup.value)
        lines.append(
            translate(
                "{factor} times as fast as {other} ({ends})",
                factor=factor,
                other=variant_name(run, run.reference_variant),
                ends=span(speedup),
            )
        )
    lines += [escaped(line) for line in (more, *map(tell, (m.reason, *m.flags))) if line]
    return "<br>".join(lines)
