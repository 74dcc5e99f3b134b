"""Any axis of a run on x, any other one as lines, the rest held: for questions that the fixed charts don't ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

import plotly.graph_objects as go
import streamlit as st

from bench.records.case import Case
from bench.records.formats import OFF_ON, spoken
from bench.records.measurement import Measurement
from bench.records.run import Run
from bench.stats.estimate import Estimate
from bench.text.language import translate
from bench.text.units import count, si, significant
from bench.ui.charts.base import COLORS, error_bars, finished, size_axis
from bench.ui.parts.chart_cache import show_chart
from bench.ui.parts.plain import escaped

SIZE, THREADS, DEVICE, WHAT = "size", "CPU threads", "device", "what"
AXES: Mapping[str, Callable[[Run, Case], int | str]] = {
    WHAT: lambda run, case: case.workload,
    SIZE: lambda run, case: case.size,
    DEVICE: lambda run, case: run.label(case.device),
    "number format": lambda run, case: spoken(case.dtype),
    THREADS: lambda run, case: str(
        case.threads or translate("PyTorch's own ({threads})", threads=run.environment.threads)
    ),
    "memory layout": lambda run, case: spoken(case.layout),
    "torch.compile": lambda run, case: OFF_ON[case.compiled],
}
QUANTITIES: Mapping[str, tuple[str, Callable[[Run, Measurement], Estimate | None]]] = {
    "time": ("s", lambda run, m: m.median_s),
    "speed-up": (" ×", lambda run, m: run.speedup(m)),
    "rate": ("FLOP/s", lambda run, m: m.flops_per_s if m.cost.flops else m.bytes_per_s),
    "items a second": ("/s", lambda run, m: m.items_per_s),
    "memory": ("B", lambda run, m: Estimate(*[float(m.memory.used_bytes)] * 3) if m.memory else None),
    "first call": ("s", lambda run, m: Estimate(*[m.first_call_s] * 3)),
}


def axes_of(run: Run) -> list[str]:
    """Those along which the run has more than one value."""
    return [name for name, read in AXES.items() if len({read(run, m.case) for m in run.measurements}) > 1]


def values_of(run: Run, axis: str) -> list[int | str]:
    """In the run's own order; numbers ascend."""
    found = dict.fromkeys(AXES[axis](run, m.case) for m in run.measurements)
    return sorted(found) if axis == SIZE else list(found)


def along(run: Run, x: str, line: str, quantity: str, held: Mapping[str, object]) -> go.Figure:
    """``quantity`` against axis ``x``, a line for each value of axis ``line`` ("" is one line), the others ``held``."""
    unit, read = QUANTITIES[quantity]
    found = [
        m
        for m in run.measurements
        if m.believed and all(AXES[axis](run, m.case) == value for axis, value in held.items())
    ]
    figure, places = go.Figure(), values_of(run, x)
    for name in values_of(run, line) if line else [""]:
        mine = [m for m in found if not line or AXES[line](run, m.case) == name]
        points = [(AXES[x](run, m.case), estimate, m) for m in mine if (estimate := read(run, m)) is not None]
        if not points:
            continue
        points.sort(key=lambda point: places.index(point[0]))
        figure.add_scatter(
            x=[value for value, _, _ in points],
            y=[estimate.value for _, estimate, _ in points],
            mode="lines+markers",
            name=escaped(_told(name) or translate(quantity)),
            marker={"size": 9},
            line={"width": 2, "color": COLORS.get(points[0][2].case.device) if line == DEVICE else None},
            error_y=error_bars([estimate for _, estimate, _ in points]),
            customdata=[_amount(estimate, unit) for _, estimate, _ in points],
            hovertemplate="%{x}: %{customdata}<extra>%{fullData.name}</extra>",
        )
    if x == SIZE:
        size_axis(figure, translate(x), [n for n in places if isinstance(n, int)], log=True)
    else:
        figure.update_xaxes(title=translate(x), type="category", categoryorder="array", categoryarray=places)
    figure.update_yaxes(title=translate(quantity), type="log", exponentformat="SI", minexponent=1, ticksuffix=unit)
    return finished(figure, run).update_layout(legend_title=translate(line))


def show_any_axis(run: Run, key: str) -> None:
    """Choices and the chart; nothing where no axis has two values."""
    axes = axes_of(run)
    if not axes:
        return
    first, second, third = st.columns(3)
    # Streamlit's types, read for Python 3.10, call every choice from a list None
    quantity = cast(
        str,
        third.selectbox(translate("What to see"), list(QUANTITIES), format_func=translate, key=f"{key} quantity"),
    )
    x = cast(
        str,
        first.selectbox(
            translate("From left to right"),
            axes,
            index=axes.index(SIZE) if SIZE in axes else 0,
            format_func=translate,
            key=f"{key} x",
        ),
    )
    rest = [axis for axis in axes if axis != x]
    seldom = [i for i, axis in enumerate(rest) if axis not in (WHAT, SIZE, DEVICE)]  # varied, so it is what is asked
    line = (
        second.selectbox(
            translate("A line for each"), rest, index=(seldom or [0])[0], format_func=translate, key=f"{key} line"
        )
        if rest
        else ""
    )
    held = _hold(run, [axis for axis in rest if axis != line], key)
    alt = translate("{quantity} against {x}.", quantity=translate(quantity), x=translate(x))
    build = partial(along, run, x, line or "", quantity, held)
    chosen = (x, line or "", quantity, *map(str, held.items()))
    show_chart(run, key, build, *chosen, alt=alt, file=f"{quantity}-{x}")


def _hold(run: Run, axes: Sequence[str], key: str) -> dict[str, object]:
    held: dict[str, object] = {}
    if axes:
        for axis, column in zip(axes, st.columns(len(axes)), strict=True):
            held[axis] = column.selectbox(
                translate("Only this {axis}", axis=translate(axis)),
                values_of(run, axis),
                format_func=_told,
                key=f"{key} only {axis}",
            )
    return held


def _told(value: object) -> str:
    return count(value) if isinstance(value, int) else str(value)


def _amount(estimate: Estimate, unit: str) -> str:
    if unit == " ×":
        return f"{significant(estimate.value)} × ({significant(estimate.low)} to {significant(estimate.high)})"
    return f"{si(estimate.value, unit)} ({si(estimate.low, unit)} to {si(estimate.high, unit)})"
