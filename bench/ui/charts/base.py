"""What all figures share: colours, axes, error bars, and where the numbers come from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from bench import stats
from bench.records.case import Variant
from bench.records.measurement import Measurement
from bench.records.run import Run
from bench.text.language import separators, translate
from bench.text.units import count
from bench.ui.parts.plain import escaped

COLORS = {"cpu": "#E69F00", "mps": "#0072B2", "cuda": "#009E73", "xpu": "#CC79A7"}  # Okabe-Ito; the same everywhere
DASHES = ("solid", "dot", "dash", "dashdot")  # networks; colours are taken by the devices
APART = 0.09  # of an axis, between two of its labels


def variants_of(run: Run) -> Sequence[Variant]:
    """Those measured; before there is anything, the planned devices, so that the legend is there from the start."""
    rest = [Variant(device) for device in run.devices if device not in {variant.device for variant in run.variants}]
    return [*run.variants, *rest]


def points_of(run: Run, variant: Variant) -> list[Measurement]:
    """What may be believed; the rest is struck out."""
    return sorted((m for m in run.measurements if m.case.variant == variant and m.believed), key=lambda m: m.case.size)


def dash_of(run: Run, variant: Variant) -> str:
    """Colours belong to devices; the settings with which one device computes differ by their dashes."""
    settings = list(dict.fromkeys(variant[1:] for variant in run.variants))
    return DASHES[settings.index(variant[1:]) % len(DASHES)] if variant[1:] in settings else DASHES[0]


def equality(figure: go.Figure, log: bool) -> None:
    """The line at which a speed-up is none."""
    figure.add_hline(y=1, line_dash="dash", line_color="#888")
    figure.add_annotation(
        text=translate("as fast as the CPU"),
        x=1,
        xref="paper",
        xanchor="right",
        y=0 if log else 1,
        yanchor="bottom",
        showarrow=False,
        font={"color": "#888"},
    )


def error_bars(estimates: Sequence[stats.Estimate]) -> dict[str, object]:
    """From the value to either end of the interval."""
    up, down = [e.high - e.value for e in estimates], [e.value - e.low for e in estimates]
    return {"array": up, "arrayminus": down, "thickness": 1.5, "width": 4}


def sizes_of(run: Run) -> list[int]:
    """The sizes that a sweep was planned for. TypeError for a run that was none."""
    sizes = run.settings.get("sizes")
    if not isinstance(sizes, Sequence):
        raise TypeError(f"a sweep's sizes are a list, not {sizes!r}")
    return list(sizes)


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
    low, high = min(sizes), max(sizes)
    kept: list[int] = []
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
        uirevision="keep",
        legend={"orientation": "h", "y": 1.02, "x": 0, "yanchor": "bottom"},
        margin={"l": 70, "r": 10, "t": 60, "b": 85},  # buttons lie above the legend
        hovermode="closest",
        showlegend=True,
    )
    figure.add_annotation(
        text=provenance(run, "<br>"),
        xref="paper",
        yref="paper",
        x=1,
        y=0,
        yshift=-48,
        xanchor="right",
        yanchor="top",
        align="right",
        showarrow=False,
        font={"size": 11, "color": "#888"},
    )
    return figure


def provenance(run: Run, line_break: str = " · ") -> str:
    """Where a chart comes from, to be read off the picture itself."""
    environment = run.environment
    emulated = translate("EMULATED device, not real hardware") + line_break if run.emulated else ""
    chip, torch = escaped(environment.chip), escaped(environment.torch)
    return f"{emulated}{chip} · PyTorch {torch} · {environment.captured_at[:10]}"
