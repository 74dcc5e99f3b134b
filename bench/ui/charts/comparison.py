"""Figures that put runs side by side. Pure functions from a comparison to Plotly."""

from __future__ import annotations

import plotly.graph_objects as go

from bench.analysis.comparison import Comparison, Pair
from bench.records.case import Variant
from bench.records.run import Run
from bench.stats.estimate import Estimate
from bench.text.language import translate
from bench.text.names import short_name, variant_name, workload_name
from bench.text.units import count, si, times
from bench.ui.charts.base import COLORS, error_bars, finished
from bench.ui.parts.plain import escaped
from bench.workloads.operations import OPERATIONS


def ratios(found: Comparison, run: Run) -> go.Figure:
    """Speed of the second run over the first's, a line for each workload and device, with the line at 1."""
    figure = go.Figure()
    lines: dict[tuple[str, Variant], list[tuple[Pair, Estimate]]] = {}
    for pair in found.pairs:
        if pair.speedup:
            lines.setdefault((pair.case.workload, pair.case.variant), []).append((pair, pair.speedup))
    one_size = len({pair.case.size for pair in found.pairs}) == 1  # of networks: then side by side, by name
    for (workload, variant), points in lines.items():
        points.sort(key=lambda point: point[0].case.size)
        if workload in OPERATIONS:
            what = workload_name(workload)
        else:  # of networks several batch sizes are one line
            what = short_name(run, points[0][0].case) if len(points) == 1 else escaped(workload)
        name = f"{what} · {variant_name(run, variant)}"
        figure.add_scatter(
            x=[name] if one_size else [pair.case.size for pair, _ in points],
            y=[speedup.value for _, speedup in points],
            mode="lines+markers",
            name=name,
            line={"color": COLORS.get(variant.device), "width": 2},
            marker={"size": 8},
            error_y=error_bars([speedup for _, speedup in points]),
            customdata=[_hover(pair, speedup) for pair, speedup in points],
            hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
            showlegend=not one_size,
        )
    figure.add_hline(y=1, line_dash="dash", line_color="#888")
    figure.update_xaxes(title=None if one_size else translate("size"), type="category" if one_size else "log")
    figure.update_yaxes(title=translate("times as fast as the first run"), type="log", ticksuffix=" ×")
    return finished(figure, run)


def _hover(pair: Pair, speedup: Estimate) -> str:
    medians = f"{si(pair.first.median_s.value, 's')} → {si(pair.second.median_s.value, 's')}"
    return f"<b>{count(pair.case.size)}</b>: {times(speedup)}<br>{translate(pair.verdict)}: {medians}"
