"""The files a run can be taken away as. Made when they are asked for, without a rerun of the page."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from bench.records.run import Run
from bench.storage.writing import to_json
from bench.text.language import language, speaking, translatable, translate
from bench.text.table import to_csv
from bench.ui.charts.base import provenance
from bench.ui.parts.report import report

UNNEEDED = ["select2d", "lasso2d", "autoScale2d", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d"]  # the mouse does them
CAMERA: dict[str, Any] = {"displaylogo": False, "displayModeBar": True, "modeBarButtonsToRemove": UNNEEDED}


def chart_config(name: str) -> dict[str, Any]:
    """Plotly's toolbar with its camera, which saves the picture in the browser: no extra program is needed."""
    return CAMERA | {"toImageButtonOptions": {"format": "png", "filename": name, "scale": 2}}


def show_downloads(run: Run, chart: Callable[[], go.Figure], title: str) -> None:
    """CSV, JSON and the chart as one HTML file; the picture comes from the chart's own camera."""
    name = file_name(run)
    with st.container(horizontal=True, vertical_alignment="center"):
        _button(translatable("Table (CSV)"), lambda: to_csv(run), f"{name}.csv", "text/csv")
        _button(translatable("Run (JSON)"), lambda: to_json(run), f"{name}.json", "application/json")
        _button(translatable("Report (HTML)"), lambda: report(run), f"{name}-report.html", "text/html")
        _button(translatable("Chart (HTML)"), lambda: chart_page(chart(), title, run), f"{name}.html", "text/html")
        st.caption(
            translate("Chart (PNG): the camera :material/photo_camera: above the chart's right corner."),
            width="content",
        )


def file_name(run: Run) -> str:
    """Kind, what and when: "sweep-matvec-2026-11-30"."""
    networks = run.settings.get("networks")
    listed = "-".join(map(str, networks)) if isinstance(networks, list | tuple) else ""
    what = run.settings.get("operation") or listed
    return "-".join(filter(None, (run.kind, str(what), run.environment.captured_at[:10])))


def chart_page(figure: go.Figure, title: str, run: Run) -> str:
    """One HTML file with everything inside; works without a network."""
    figure.update_layout(title={"text": html.escape(title)}, template="plotly_white", margin_t=90, height=620)
    page = figure.to_html(include_plotlyjs=True, full_html=True, config=chart_config(file_name(run)))
    head = f"<title>{html.escape(title)} – {provenance(run)}</title>"
    return page.replace("<head>", f"<head>{head}", 1)


def _button(label: str, make: Callable[[], bytes | str], name: str, mime: str) -> None:
    reader = language()

    def made() -> bytes | str:
        with speaking(reader):
            return make()

    st.download_button(
        translate(label), made, name, mime, on_click="ignore", key=f"take {label}", icon=":material/download:"
    )
