"""Charts that a run alone decides. Each is built once: no run changes (one that grows is a new one at every step)."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from bench.records.run import Run
from bench.text.language import language
from bench.ui.parts.downloads import chart_config


def show_chart(
    run: Run, name: str, build: Callable[[], go.Figure], *choices: object, alt: str, file: str = "", **more: object
) -> object:
    """The chart ``name``; ``choices`` are all that ``build`` depends on beside the run and the language.

    ``more`` goes to Streamlit's chart, whose answer (what was clicked) is returned.
    """
    _, figure = _built(run, name, language(), choices, build)
    return st.plotly_chart(figure, key=f"chart {name}", config=chart_config(file or name), alt=alt, **more)


@st.cache_resource(max_entries=60, show_spinner=False, hash_funcs={Run: id})
def _built(run: Run, name: str, reader: str, choices: tuple, _build: Callable[[], go.Figure]) -> tuple[Run, go.Figure]:
    """With its run, so that no other can have its id."""
    return run, _build()
