"""Charts that a run alone decides. Each is built once: no run changes (one that grows is a new one at every step)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import plotly.graph_objects as go
import streamlit as st

from bench.records.run import Run
from bench.text.language import language
from bench.ui.parts.downloads import chart_config

if TYPE_CHECKING:  # a name that Streamlit may move
    from streamlit.elements.plotly_chart import PlotlyState


def show_chart(run: Run, name: str, build: Callable[[], go.Figure], *choices: object, alt: str, file: str = "") -> None:
    """The chart ``name``; ``choices`` are all that ``build`` depends on beside the run and the language."""
    _, figure = _built(run, name, language(), choices, build)
    st.plotly_chart(figure, key=f"chart {name}", config=chart_config(file or name), alt=alt)


def show_clickable_chart(
    run: Run, name: str, build: Callable[[], go.Figure], *choices: object, alt: str
) -> PlotlyState:
    """As ``show_chart``; a click on a point draws the page again, and which one it was is returned."""
    _, figure = _built(run, name, language(), choices, build)
    return st.plotly_chart(
        figure, key=f"chart {name}", config=chart_config(name), alt=alt, on_select="rerun", selection_mode="points"
    )


@st.cache_resource(max_entries=60, show_spinner=False, hash_funcs={Run: id})
def _built(
    run: Run, name: str, reader: str, choices: tuple[object, ...], _build: Callable[[], go.Figure]
) -> tuple[Run, go.Figure]:
    """With its run, so that no other can have its id."""
    return run, _build()
