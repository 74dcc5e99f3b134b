"""Figures of a training: loss, time, and the phases of a step. Pure functions from results to Plotly."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from bench import stats
from bench.records.curve import Curve
from bench.records.run import Run
from bench.text.language import translate
from bench.text.names import short_name, variant_name
from bench.ui.charts.base import COLORS, DASHES, finished
from bench.workloads.networks import NETWORKS

PHASE_COLORS = {
    "loading": "#999999",
    "copy": "#F0E442",
    "forward": "#56B4E9",
    "backward": "#0072B2",
    "optimiser": "#D55E00",
}


def loss_against_images(curves: Sequence[Curve], run: Run) -> go.Figure:
    """Loss against images seen: the devices' lines should lie on each other, for they do the same thing."""
    figure = go.Figure()
    batches = len({curve.case.size for curve in curves}) > 1
    for curve in curves:
        _curve(figure, run, curve, curve.images, curve.losses, "%{x} images: loss %{y:.3f}", batches)
    figure.update_xaxes(title=translate("training images seen"), rangemode="tozero")
    figure.update_yaxes(title="loss", type="log")
    return finished(figure, run)


def time_against_epoch(curves: Sequence[Curve], images: int, run: Run) -> go.Figure:
    """Seconds of training against epochs done; ``images`` is how many an epoch has."""
    figure = go.Figure()
    batches = len({curve.case.size for curve in curves}) > 1
    for curve in curves:
        epochs = [0, *(n / images for n in curve.images)]
        _curve(figure, run, curve, epochs, (0, *curve.seconds), "%{x:.2f} epochs: %{y:.3s}s", batches)
    figure.update_xaxes(title="epochs", rangemode="tozero")
    figure.update_yaxes(title=translate("training time"), rangemode="tozero", exponentformat="SI", ticksuffix="s")
    return finished(figure, run)


def phases_of_a_step(run: Run) -> go.Figure:
    """Where a training step's time goes, a bar for each network and device."""
    figure = go.Figure()
    trained = [m for m in run.measurements if m.case.workload.endswith("/train")]
    names = [f"{short_name(run, m.case)} · {variant_name(run, m.case.variant)}" for m in trained]
    for phase, color in PHASE_COLORS.items():
        taken = [m.learning.phases_s.get(phase) if m.learning else None for m in trained]
        mids = [stats.median(seconds).value if seconds else 0.0 for seconds in taken]
        figure.add_bar(
            y=names,
            x=mids,
            name=phase,
            orientation="h",
            marker_color=color,
            hovertemplate="%{y}, " + phase + ": %{x:.3s}s<extra></extra>",
        )
    figure.update_layout(barmode="stack", height=120 + 50 * len(names))
    figure.update_xaxes(title=translate("time a batch"), exponentformat="SI", ticksuffix="s")
    figure.update_yaxes(autorange="reversed")
    return finished(figure, run)


def _curve(figure: go.Figure, run: Run, curve: Curve, x, y, hover: str, batches: bool) -> None:
    """``batches``: the curves are of several, so each is named."""
    network = curve.case.workload.partition("/")[0]
    dash = DASHES[list(NETWORKS).index(network) % len(DASHES)]
    words = [
        NETWORKS[network].title,
        *([translate("batch {batch}", batch=curve.case.size)] if batches else []),
        variant_name(run, curve.case.variant),
    ]
    figure.add_scatter(
        x=list(x),
        y=list(y),
        name=" · ".join(words),
        mode="lines",
        line={"color": COLORS.get(curve.case.device), "width": 2, "dash": dash},
        hovertemplate=hover + "<extra>%{fullData.name}</extra>",
    )
