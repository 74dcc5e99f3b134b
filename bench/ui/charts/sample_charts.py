"""Figures that look behind a result: its clocks, and its samples one by one. Pure functions, as in the other charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bench.records.measurement import Measurement
from bench.records.run import Run
from bench.text.language import translatable, translate
from bench.text.names import short_name, variant_name
from bench.text.units import si
from bench.ui.charts.base import COLORS, finished, points_of, size_axis, time_axis

# name, line, seconds a call; the wall is the headline, the others say what a careless clock would have read
CLOCKS: tuple[tuple[str, str, Callable[[Measurement], float | None]], ...] = (
    ("wall", "solid", lambda m: m.median_s.value),
    (translatable("device's own"), "dot", lambda m: median(m.events_s) if m.events_s else None),
    (translatable("until queued"), "dash", lambda m: median(m.dispatch_s) if m.dispatch_s else None),
)


def clocks_against_size(run: Run, axis: str, planned: Sequence[int], log: bool) -> go.Figure:
    """Seconds a call by three clocks: the wall with the device waited for, the device's own, and until queued."""
    figure = go.Figure()
    for variant in run.variants:
        found = points_of(run, variant)
        for name, dash, read in CLOCKS:
            points = [(m.case.size, seconds) for m in found if (seconds := read(m)) is not None]
            if not points:
                continue
            figure.add_scatter(
                x=[size for size, _ in points],
                y=[seconds for _, seconds in points],
                mode="lines+markers",
                name=f"{variant_name(run, variant)}, {name}",
                line={"color": COLORS.get(variant.device), "dash": dash, "width": 2},
                marker={"size": 6},
                customdata=[si(seconds, "s") for _, seconds in points],
                hovertemplate="%{x}: %{customdata}<extra>%{fullData.name}</extra>",
            )
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(title=translate("time per call"), **time_axis(log))
    return finished(figure, run)


def speed_over_time(run: Run) -> go.Figure:
    """Calls a second against seconds of measuring, a point a round: throttling is a line that falls."""
    figure = go.Figure()
    for m in run.measurements:
        lasted = np.cumsum([sum(a_round) * m.calls for a_round in m.by_round if a_round])
        speeds = [1 / median(a_round) for a_round in m.by_round if a_round]
        figure.add_scatter(
            x=lasted,
            y=speeds,
            mode="lines+markers",
            marker={"size": 4},
            line={"color": COLORS.get(m.case.device)},
            name=f"{short_name(run, m.case)} on {variant_name(run, m.case.variant)}",
            hovertemplate="after %{x:.0f} s: %{y:.4s} calls a second<extra>%{fullData.name}</extra>",
        )
    figure.update_xaxes(title=translate("seconds of measuring"), rangemode="tozero")
    figure.update_yaxes(title=translate("calls a second"), rangemode="tozero")
    return finished(figure, run)


def samples_of(m: Measurement, label: str) -> go.Figure:
    """The samples of one case: in the order taken, round by round, and beside it how they are distributed."""
    figure = make_subplots(cols=2, shared_yaxes=True, column_widths=[0.78, 0.22], horizontal_spacing=0.02)
    color, shade = COLORS.get(m.case.device, "#888"), ("circle", "circle-open")
    first = 1
    for number, samples in enumerate(m.by_round):
        figure.add_scatter(
            x=list(range(first, first + len(samples))),
            y=samples,
            mode="markers",
            showlegend=False,
            row=1,
            col=1,
            marker={"color": color, "size": 6, "symbol": shade[number % 2]},
            hovertemplate=f"round {number + 1}, sample %{{x}}: %{{y:.4s}}s<extra>{label}</extra>",
        )
        first += len(samples)
    figure.add_histogram(
        y=m.samples_s,
        marker_color=color,
        showlegend=False,
        row=1,
        col=2,
        nbinsy=40,
        hovertemplate="%{x} samples at %{y:.4s}s<extra></extra>",
    )
    mid = m.median_s
    figure.add_hrect(y0=mid.low, y1=mid.high, fillcolor="#888", opacity=0.3, line_width=0)
    figure.add_hline(y=mid.value, line_color="#888")
    figure.update_xaxes(title=translate("sample, in the order taken (rounds filled and hollow in turn)"), row=1, col=1)
    figure.update_xaxes(title=translate("how many"), row=1, col=2)
    figure.update_yaxes(title=translate("time per call"), exponentformat="SI", ticksuffix="s", row=1, col=1)
    figure.update_layout(uirevision="samples", margin={"l": 70, "r": 10, "t": 20, "b": 60}, bargap=0.05)
    return figure
