"""Figures that put runs side by side. Pure functions from a comparison to Plotly."""

from __future__ import annotations

import plotly.graph_objects as go

from bench.cases import Lane
from bench.compare import Comparison, Pair
from bench.registry import OPERATIONS
from bench.results import Run, title_of
from bench.ui.charts import COLORS, error_bars, finished
from bench.ui.plain import escaped
from bench.units import count, si, times
from bench.words import say


def ratios(found: Comparison, run: Run) -> go.Figure:
    """Speed of the second run over the first's, a line for each workload and device, with the line at 1."""
    figure = go.Figure()
    lines: dict[tuple[str, Lane], list[Pair]] = {}
    for pair in found.pairs:
        if pair.speedup:
            lines.setdefault((pair.case.workload, pair.case.lane), []).append(pair)
    one_size = len({pair.case.size for pair in found.pairs}) == 1  # of networks: then side by side, by name
    for (workload, lane), pairs in lines.items():
        pairs.sort(key=lambda pair: pair.case.size)
        if workload in OPERATIONS:
            what = title_of(workload)
        else:  # of networks several batch sizes are one line
            what = run.what(pairs[0].case) if len(pairs) == 1 else escaped(workload)
        name = f"{what} · {run.name(lane)}"
        figure.add_scatter(
            x=[name] if one_size else [pair.case.size for pair in pairs], y=[pair.speedup.value for pair in pairs],
            mode="lines+markers", name=name, line={"color": COLORS.get(lane.device), "width": 2}, marker={"size": 8},
            error_y=error_bars([pair.speedup for pair in pairs]),
            customdata=[_hover(pair) for pair in pairs], hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
            showlegend=not one_size,
        )  # fmt: skip
    figure.add_hline(y=1, line_dash="dash", line_color="#888")
    figure.update_xaxes(title=None if one_size else say("size"), type="category" if one_size else "log")
    figure.update_yaxes(title=say("times as fast as the first run"), type="log", ticksuffix=" ×")
    return finished(figure, run)


def _hover(pair: Pair) -> str:
    medians = f"{si(pair.first.median_s.value, 's')} → {si(pair.second.median_s.value, 's')}"
    return f"<b>{count(pair.case.size)}</b>: {times(pair.speedup)}<br>{say(pair.verdict)}: {medians}"
