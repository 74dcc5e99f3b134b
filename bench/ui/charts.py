"""Figures. Pure functions from results to Plotly: no Streamlit, no state."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from bench import stats
from bench.cases import Case, Lane
from bench.fit import Crossing
from bench.registry import NETWORKS
from bench.results import Measurement, Run
from bench.runner import Curve
from bench.ui.plain import escaped
from bench.units import count, si, significant, span
from bench.words import retold, say, separators

COLORS = {"cpu": "#E69F00", "mps": "#0072B2", "cuda": "#009E73", "xpu": "#CC79A7"}  # Okabe-Ito; the same everywhere
PHASE_COLORS = {"loading": "#999999", "copy": "#F0E442", "forward": "#56B4E9", "backward": "#0072B2",
                "optimiser": "#D55E00"}  # fmt: skip
DASHES = ("solid", "dot", "dash", "dashdot")  # networks; colours are taken by the devices
APART = 0.09  # of an axis, between two of its labels
STRIP = 300  # samples shown of the case being measured
# Nothing moves on the page while a block is timed, so nothing here is animated.


def time_against_size(
    run: Run, axis: str, planned: Sequence[int], log: bool,
    current: tuple[Case, tuple[float, ...]] | None = None, crossings: Sequence[Crossing] = (),
) -> go.Figure:  # fmt: skip
    """Median time a call against size, one line a device, 95 % intervals.

    ``current`` is the case being measured, shown hollow; ``crossings`` are marked with their intervals.
    """
    figure = go.Figure()
    for lane in lanes_of(run):
        points = points_of(run, lane)
        mids = [m.median_s for m in points]
        _line(figure, run, lane, [m.case.size for m in points], mids, [_hover(run, m) for m in points])
    _struck_out(figure, run)
    _mark(figure, crossings, log)
    if current and current[1]:
        case, samples = current
        figure.add_scatter(
            x=[case.size], y=[stats.median(samples).value], mode="markers", showlegend=False,
            marker={"symbol": "circle-open", "size": 13, "color": COLORS.get(case.device), "line": {"width": 2}},
            hovertemplate="being measured<extra></extra>",
        )  # fmt: skip
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(title=say("time per call"), **time_axis(log))
    return finished(figure, run)


def speedup_against_size(
    run: Run, axis: str, planned: Sequence[int], log: bool, band: float = 1.0, crossings: Sequence[Crossing] = ()
) -> go.Figure:
    """How many times faster than the CPU, with its interval; the line at 1 is equality.

    ``band`` is the factor by which a device differed from itself: inside it a speed-up means nothing.
    """
    figure = go.Figure()
    for lane in run.lanes:
        points = [(m, s) for m in points_of(run, lane) if (s := run.speedup(m))]
        if points:
            sizes, hover = [m.case.size for m, _ in points], [_hover(run, m) for m, _ in points]
            _line(figure, run, lane, sizes, [s for _, s in points], hover)
    if band > 1:
        figure.add_hrect(y0=1 / band, y1=band, fillcolor="#888", opacity=0.2, line_width=0)
    equality(figure, log)
    _mark(figure, crossings, log)
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(
        title=say("times as fast as {other}", other=run.name(run.reference_lane)),
        type="log" if log else "linear",
        ticksuffix=" ×",
    )
    return finished(figure, run)


def rate_against_size(run: Run, axis: str, planned: Sequence[int], log: bool, quantity: str) -> go.Figure:
    """FLOP/s or B/s against size; ``quantity`` is "FLOP/s" or "B/s"."""
    figure = go.Figure()
    for lane in run.lanes:
        points = points_of(run, lane)
        rates = [m.flops_per_s if quantity == "FLOP/s" else m.bytes_per_s for m in points]
        hover = [_hover(run, m, si(rate.value, quantity)) for m, rate in zip(points, rates, strict=True)]
        _line(figure, run, lane, [m.case.size for m in points], rates, hover)
    size_axis(figure, axis, planned, log)
    figure.update_yaxes(title=quantity, type="log" if log else "linear", exponentformat="SI", ticksuffix=quantity)
    return finished(figure, run)


def sample_strip(samples: Sequence[float], device: str) -> go.Figure:
    """The latest samples of the case being measured, in the order taken."""
    shown = samples[-STRIP:]
    first = len(samples) - len(shown) + 1
    figure = go.Figure()
    figure.add_scatter(
        x=list(range(first, first + len(shown))), y=shown, mode="markers",
        marker={"size": 4, "color": COLORS.get(device)}, hovertemplate="sample %{x}: %{y:.3s}s<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title=None, showgrid=False)
    figure.update_yaxes(title=None, exponentformat="SI", ticksuffix="s", nticks=4)
    figure.update_layout(height=130, margin={"l": 70, "r": 10, "t": 5, "b": 20}, uirevision="strip", showlegend=False)
    return figure


def loss_against_images(curves: Sequence[Curve], run: Run) -> go.Figure:
    """Loss against images seen: the devices' lines should lie on each other, for they do the same thing."""
    figure = go.Figure()
    batches = len({curve.case.size for curve in curves}) > 1
    for curve in curves:
        _curve(figure, run, curve, curve.images, curve.losses, "%{x} images: loss %{y:.3f}", batches)
    figure.update_xaxes(title=say("training images seen"), rangemode="tozero")
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
    figure.update_yaxes(title=say("training time"), rangemode="tozero", exponentformat="SI", ticksuffix="s")
    return finished(figure, run)


def phases_of_a_step(run: Run) -> go.Figure:
    """Where a training step's time goes, a bar for each network and device."""
    figure = go.Figure()
    trained = [m for m in run.measurements if m.case.workload.endswith("/train")]
    names = [f"{run.what(m.case)} · {run.name(m.case.lane)}" for m in trained]
    for phase, color in PHASE_COLORS.items():
        taken = [m.learning.phases_s.get(phase) for m in trained]
        mids = [stats.median(seconds).value if seconds else 0.0 for seconds in taken]
        figure.add_bar(
            y=names, x=mids, name=phase, orientation="h", marker_color=color,
            hovertemplate="%{y}, " + phase + ": %{x:.3s}s<extra></extra>",
        )  # fmt: skip
    figure.update_layout(barmode="stack", height=120 + 50 * len(names))
    figure.update_xaxes(title=say("time a batch"), exponentformat="SI", ticksuffix="s")
    figure.update_yaxes(autorange="reversed")
    return finished(figure, run)


def lanes_of(run: Run) -> Sequence[Lane]:
    """Those measured; before there is anything, the planned devices, so that the legend is there from the start."""
    rest = [Lane(device) for device in run.devices if device not in {lane.device for lane in run.lanes}]
    return [*run.lanes, *rest]


def points_of(run: Run, lane: Lane) -> list[Measurement]:
    """What may be believed; the rest is struck out."""
    return sorted((m for m in run.measurements if m.case.lane == lane and m.believed), key=lambda m: m.case.size)


def dash_of(run: Run, lane: Lane) -> str:
    """Colours belong to devices; the ways in which one device computes differ by their dashes."""
    ways = list(dict.fromkeys(lane[1:] for lane in run.lanes))
    return DASHES[ways.index(lane[1:]) % len(DASHES)] if lane[1:] in ways else DASHES[0]


def equality(figure: go.Figure, log: bool) -> None:
    """The line at which a speed-up is none."""
    figure.add_hline(y=1, line_dash="dash", line_color="#888")
    figure.add_annotation(
        text=say("as fast as the CPU"), x=1, xref="paper", xanchor="right", y=0 if log else 1, yanchor="bottom",
        showarrow=False, font={"color": "#888"},
    )  # fmt: skip


def _mark(figure: go.Figure, crossings: Sequence[Crossing], log: bool) -> None:
    """Crossovers as vertical bands from one end of the interval to the other."""
    for size, _ in crossings:
        figure.add_vrect(x0=size.low, x1=size.high, fillcolor="#888", opacity=0.15, line_width=0)
        figure.add_vline(x=size.value, line_dash="dot", line_color="#888")
    for size, _ in crossings[:1]:  # several labels would run into one another
        figure.add_annotation(  # on a log axis a text goes by the logarithm, a line by the value
            text=say("crossover"), x=math.log10(size.value) if log else size.value, y=0, yref="paper",
            xanchor="left", yanchor="bottom", showarrow=False, font={"color": "#888"},
        )  # fmt: skip


def _struck_out(figure: go.Figure, run: Run) -> None:
    """Wrong and impossible cases: a cross in the device's colour, on no line, with the reason."""
    wrong = [m for m in run.measurements if not m.believed]
    if wrong:
        figure.add_scatter(
            x=[m.case.size for m in wrong], y=[m.median_s.value for m in wrong], mode="markers", name=say("struck out"),
            marker={"symbol": "x", "size": 12, "color": [COLORS.get(m.case.device, "#888") for m in wrong]},
            customdata=[escaped(f"{run.name(m.case.lane)}: {retold(m.reason)}") for m in wrong],
            hovertemplate="<b>%{x}</b>, struck out<br>%{customdata}<extra></extra>",
        )  # fmt: skip


def _line(figure, run: Run, lane: Lane, sizes, estimates: Sequence[stats.Estimate], hover: list[str]) -> None:
    figure.add_scatter(
        x=sizes, y=[e.value for e in estimates], name=run.name(lane), mode="lines+markers",
        line={"color": COLORS.get(lane.device), "width": 2, "dash": dash_of(run, lane)}, marker={"size": 8},
        error_y=error_bars(estimates),
        customdata=hover, hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def error_bars(estimates: Sequence[stats.Estimate]) -> dict[str, object]:
    """From the value to either end of the interval."""
    up, down = [e.high - e.value for e in estimates], [e.value - e.low for e in estimates]
    return {"array": up, "arrayminus": down, "thickness": 1.5, "width": 4}


def _curve(figure: go.Figure, run: Run, curve: Curve, x, y, hover: str, batches: bool) -> None:
    """``batches``: the curves are of several, so each is named."""
    network = curve.case.workload.partition("/")[0]
    dash = DASHES[list(NETWORKS).index(network) % len(DASHES)]
    words = [
        NETWORKS[network].title,
        *([say("batch {batch}", batch=curve.case.size)] if batches else []),
        run.name(curve.case.lane),
    ]
    figure.add_scatter(
        x=list(x), y=list(y), name=" · ".join(words), mode="lines",
        line={"color": COLORS.get(curve.case.device), "width": 2, "dash": dash},
        hovertemplate=hover + "<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _hover(run: Run, m: Measurement, more: str = "") -> str:
    mid, speedup = m.median_s, run.speedup(m)
    lines = [f"<b>{count(m.case.size)}</b>: {si(mid.value, 's')} ({si(mid.low, 's')} to {si(mid.high, 's')})"]
    if speedup:
        factor = significant(speedup.value)
        lines.append(
            say(
                "{factor} times as fast as {other} ({ends})",
                factor=factor,
                other=run.name(run.reference_lane),
                ends=span(speedup),
            )
        )
    lines += [escaped(line) for line in (more, *map(retold, (m.reason, *m.flags))) if line]
    return "<br>".join(lines)


def size_axis(figure: go.Figure, axis: str, planned: Sequence[int], log: bool) -> None:
    """From the first planned size to the last, from the start, so that nothing jumps as points arrive."""
    low, high = min(planned), max(planned)
    if log:
        pad = 0.05 * max(math.log10(high / low), 0.5)
        limits = [math.log10(low) - pad, math.log10(high) + pad]
    else:
        pad = 0.05 * max(high - low, high / 10)
        limits = [low - pad, high + pad]
    ticks = _thinned(planned, log)
    figure.update_xaxes(
        type="log" if log else "linear", range=limits, title=axis, tickvals=ticks, ticktext=[count(n) for n in ticks]
    )


def _thinned(sizes: Sequence[int], log: bool) -> list[int]:
    """Those sizes whose labels do not run into one another."""
    low, high, kept = min(sizes), max(sizes), []
    for n in sorted(sizes):
        if not kept or ((n / kept[-1] >= (high / low) ** APART) if log else (n - kept[-1] >= APART * (high - low))):
            kept.append(n)
    return kept


def time_axis(log: bool) -> dict[str, object]:
    """Layout of a y axis in seconds."""
    kind = {"type": "log", "dtick": 1} if log else {"type": "linear", "rangemode": "tozero"}
    return kind | {"exponentformat": "SI", "ticksuffix": "s", "minexponent": 1}  # 1 ms, not 0.001 s


def finished(figure: go.Figure, run: Run) -> go.Figure:
    """What all figures share: zoom kept, legend out of the way, where the numbers come from."""
    figure.update_layout(
        separators="".join(separators()),
        uirevision="keep", legend={"orientation": "h", "y": 1.02, "x": 0, "yanchor": "bottom"},
        margin={"l": 70, "r": 10, "t": 60, "b": 85},  # buttons lie above the legend
        hovermode="closest", showlegend=True,
    )  # fmt: skip
    figure.add_annotation(
        text=provenance(run, "<br>"), xref="paper", yref="paper", x=1, y=0, yshift=-48,
        xanchor="right", yanchor="top", align="right",
        showarrow=False, font={"size": 11, "color": "#888"},
    )  # fmt: skip
    return figure


def provenance(run: Run, line_break: str = " · ") -> str:
    """Where a chart comes from, to be read off the picture itself."""
    environment = run.environment
    emulated = say("EMULATED device, not real hardware") + line_break if run.emulated else ""
    chip, torch = escaped(environment.chip), escaped(environment.torch)
    return f"{emulated}{chip} · PyTorch {torch} · {environment.captured_at[:10]}"
