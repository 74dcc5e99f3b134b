"""Figures that look behind a result: its clocks. Pure functions from results to Plotly, as in charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import plotly.graph_objects as go

from bench.results import Measurement, Run
from bench.ui.charts import COLORS, finished, size_axis, time_axis
from bench.units import si

# name, line, seconds a call; the wall is the headline, the others say what a careless clock would have read
CLOCKS: tuple[tuple[str, str, Callable[[Measurement], float | None]], ...] = (
    ("wall", "solid", lambda m: m.median_s.value),
    ("device's own", "dot", lambda m: median(m.events_s) if m.events_s else None),
    ("until queued", "dash", lambda m: median(m.dispatch_s) if m.dispatch_s else None),
)


def clocks_against_size(run: Run, axis: str, planned: Sequence[int], log: bool) -> go.Figure:
    """Seconds a call by three clocks: the wall with the device waited for, the device's own, and until queued."""
    figure = go.Figure()
    for device in run.devices:
        found = sorted(
            (m for m in run.measurements if m.case.device == device and m.believed), key=lambda m: m.case.size
        )
        for name, dash, read in CLOCKS:
            points = [(m.case.size, seconds) for m in found if (seconds := read(m)) is not None]
            if not points:
                continue
            figure.add_scatter(
                x=[size for size, _ in points], y=[seconds for _, seconds in points], mode="lines+markers",
                name=f"{run.label(device)}, {name}", line={"color": COLORS.get(device), "dash": dash, "width": 2},
                marker={"size": 6}, customdata=[si(seconds, "s") for _, seconds in points],
                hovertemplate="%{x}: %{customdata}<extra>%{fullData.name}</extra>",
            )  # fmt: skip
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(title="time per call", **time_axis(log))
    return finished(figure, run)
