"""Figures of the article's story. Pure functions from results to Plotly."""

from __future__ import annotations

import plotly.graph_objects as go

from bench.analysis.article_clocks import readings
from bench.records.run import Run
from bench.text.language import translate
from bench.text.units import si, significant
from bench.ui.charts.base import COLORS, equality, finished, size_axis, time_axis
from bench.workloads.article import published
from bench.workloads.networks import NETWORKS

MODES = {"train": "training", "infer": "inference"}


def matvec_clocks(run: Run) -> go.Figure:
    """Seconds a product against size: the article's clock dashed, the wall solid, one colour a device."""
    figure, found = go.Figure(), [r for r in readings(run) if "/" not in r.case.workload]
    for device in run.devices:
        points = sorted((r for r in found if r.case.device == device), key=lambda r: r.case.size)
        for dash, name, choose in (
            ("solid", translate("by the wall"), lambda r: r.wall_s),
            ("dash", translate("by the article's clock"), lambda r: r.article_s),
        ):
            figure.add_scatter(
                x=[r.case.size for r in points],
                y=[choose(r) for r in points],
                name=f"{run.label(device)} {name}",
                mode="lines+markers",
                line={"color": COLORS.get(device), "dash": dash, "width": 2},
                marker={"size": 7},
                customdata=[si(choose(r), "s") for r in points],
                hovertemplate="m = %{x}: %{customdata}<extra>%{fullData.name}</extra>",
            )
    size_axis(figure, "m", published()["matvec"]["sizes"], True)
    figure.update_yaxes(title=translate("time per call"), **time_axis(True))
    return finished(figure, run)


def clock_errors(run: Run) -> go.Figure:
    """The article's clock over the wall, a bar for each network, mode and device; 1 is right."""
    figure, found = go.Figure(), [r for r in readings(run) if "/" in r.case.workload]
    for device in run.devices:
        bars = [r for r in found if r.case.device == device]
        figure.add_bar(
            x=[title(r.case.workload) for r in bars],
            y=[r.error for r in bars],
            name=run.label(device),
            marker_color=COLORS.get(device),
            text=[f"{significant(r.error)} ×" for r in bars],
            customdata=[
                translate("{read} instead of {true}", read=si(r.article_s, "s"), true=si(r.wall_s, "s")) for r in bars
            ],
            hovertemplate="%{x}: %{customdata}<extra>%{fullData.name}</extra>",
        )
    figure.add_hline(y=1, line_dash="dash", line_color="#888")
    figure.update_yaxes(title=translate("article's clock ÷ wall"), rangemode="tozero")
    return finished(figure, run)


def published_speedups() -> go.Figure:
    """The article's own speed-ups of MPS over the CPU, as published: pale, dashed outline."""
    seconds = published()["seconds"]
    values = [row["cpu"] / row["mps"] for row in seconds.values()]
    figure = go.Figure()
    figure.add_bar(
        x=[title(workload) for workload in seconds],
        y=values,
        text=[f"{significant(v)} ×" for v in values],
        marker={"color": "rgba(0, 114, 178, 0.25)", "line": {"color": COLORS["mps"], "width": 1}},
        hovertemplate="%{x}: published %{y:.2f} times<extra></extra>",
    )
    equality(figure, False)
    figure.update_yaxes(title=translate("published: times as fast as the CPU"))
    figure.update_layout(height=340, margin={"t": 20}, showlegend=False)
    return figure


def title(workload: str) -> str:
    """ "convnet/train" for people."""
    network, _, mode = workload.partition("/")
    return f"{NETWORKS[network].title}, {MODES[mode]}"
