"""The roofline: FLOP/s against FLOP per byte, and ceilings over other figures. Pure functions, as all charts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from bench.machine.ceilings import Roof
from bench.records.run import Run
from bench.text.language import translate
from bench.text.names import variant_name
from bench.text.tell import tell
from bench.text.units import count, si
from bench.ui.charts.base import COLORS, finished, points_of
from bench.ui.parts.plain import escaped


def roofline(run: Run, roofs: Sequence[Roof]) -> go.Figure:
    """FLOP/s against FLOP per byte, below what memory and arithmetic allow; roofs are dashed, with their basis."""
    figure = go.Figure()
    found = [m for m in run.measurements if m.believed and m.cost.flops]
    intensities = [m.cost.arithmetic_intensity for m in found]
    low, high = min(intensities) / 3, max(intensities) * 3
    for variant in run.variants:
        points = [m for m in points_of(run, variant) if m.cost.flops]
        figure.add_scatter(
            x=[m.cost.arithmetic_intensity for m in points],
            y=[m.flops_per_s.value for m in points],
            mode="lines+markers",
            name=variant_name(run, variant),
            line={"color": COLORS.get(variant.device), "width": 1},
            marker={"size": 9},
            customdata=[f"{count(m.case.size)}: {si(m.flops_per_s.value, 'FLOP/s')}" for m in points],
            hovertemplate="%{customdata}, %{x:.3g} FLOP per byte<extra>%{fullData.name}</extra>",
        )
    for roof in roofs:
        ridge = roof.flops_per_s / roof.bytes_per_s if roof.flops_per_s else high
        xs = [low, *([ridge] if low < ridge < high else []), high]
        ys = [min(roof.bytes_per_s * x, roof.flops_per_s or math.inf) for x in xs]
        figure.add_scatter(
            x=xs,
            y=ys,
            mode="lines",
            name=escaped(tell(roof.basis)),
            hovertemplate="%{y:.3s}FLOP/s<extra>%{fullData.name}</extra>",
            line={"color": COLORS.get(roof.device, "#888"), "dash": "dash", "width": 1.5},
        )
    figure.update_xaxes(title=translate("arithmetic intensity (FLOP per byte of least traffic)"), type="log")
    figure.update_yaxes(title="FLOP/s", type="log", exponentformat="SI", ticksuffix="FLOP/s")
    return finished(figure, run)


def add_roofs(figure: go.Figure, roofs: Sequence[Roof], quantity: str) -> None:
    """Ceilings as dashed lines over a figure of rates; ``quantity`` is "FLOP/s" or "B/s"."""
    for roof in roofs:
        top = roof.flops_per_s if quantity == "FLOP/s" else roof.bytes_per_s
        if top:
            figure.add_hline(
                y=top,
                line_dash="dash",
                line_color=COLORS.get(roof.device, "#888"),
                annotation_text=escaped(tell(roof.basis)),
                annotation_position="top left",
            )
