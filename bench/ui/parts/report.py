"""One run as one HTML file: verdict, charts, table, method, machine and caveats. Works offline, prints well."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from html import escape

import pandas as pd
import plotly.graph_objects as go

from bench.analysis.caveats import caveats
from bench.analysis.fits import sweep_fits
from bench.analysis.verdicts import verdicts
from bench.machine import ceilings
from bench.records.curve import curves_of
from bench.records.run import REFERENCE, Run
from bench.text.language import language, translatable, translate
from bench.text.names import variant_name, workload_name
from bench.text.table import to_rows
from bench.text.tell import note, tell
from bench.text.units import si, significant
from bench.ui.charts import article, roofline_chart, sample_charts, sweep_charts, training_charts
from bench.ui.charts.base import sizes_of
from bench.workloads.operations import OPERATIONS

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2rem } .verdict { font-size: 1.2rem; font-weight: 600 }
.emulated { background: #fff3cd; padding: .6rem 1rem } .doubt { color: #8a4b00 }
table { border-collapse: collapse; font-size: .85rem } td, th { padding: .25rem .6rem; border-bottom: 1px solid #ddd }
td { text-align: right; font-variant-numeric: tabular-nums } td:first-child, th { text-align: left }
@media print { figure { break-inside: avoid } body { margin: 0 } }
"""
METHOD = translatable(
    "A sample is the mean wall time of a block of calls, with the device waited for before and after. A case shows the "
    "median of its samples with a 95 % interval (order statistics). Devices of one size take turns in rounds, in "
    "random order; a speed-up's interval comes from the ratios of paired rounds. The first call is kept apart. Answers "
    "are compared with float64 on the CPU before and after; a wrong one is struck out. The page draws only between "
    "timed stretches."
)
EMULATED = translatable("Emulated device. Its times are settings of a test tool, never measurements.")
COLUMNS = {  # of the rows of a file: head, unit
    "median_s": ("median", "s"),
    "ci95_low_s": ("low", "s"),
    "ci95_high_s": ("high", "s"),
    "speedup_vs_cpu": ("speed-up", ""),
    "flop_per_s": ("compute", "FLOP/s"),
    "bytes_per_s": ("traffic", "B/s"),
    "dispatch_s": ("to queue", "s"),
    "article_clock_s": ("article's clock", "s"),
    "total_s": ("total", "s"),
    "test_accuracy": ("test accuracy", ""),
}


def report(run: Run) -> str:
    """The whole file. Nothing in it is fetched from anywhere; words of the run are words."""
    title = f"{_what(run)} – {run.environment.chip}"
    figures = [
        f"<figure>{figure.to_html(full_html=False, include_plotlyjs=not number)}</figure>"
        for number, figure in enumerate(_figures(run))
    ]
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="emulated">{escape(translate(EMULATED))}</p>' if run.emulated else "",
        *(f'<p class="verdict">{escape(tell(verdict))}</p>' for verdict in verdicts(run)),
        *(f'<p class="doubt">⚠ {escape(tell(caveat))}</p>' for caveat in caveats(run)),
        *figures,
        f"<h2>{escape(translate('Every case'))}</h2>{_table(run)}",
        f"<h2>{escape(translate('Method'))}</h2><p>{escape(translate(METHOD))}</p>",
        f"<h2>{escape(translate('Machine'))}</h2>{_pairs(asdict(run.environment).items())}",
        f"<h2>{escape(translate('Settings'))}</h2>{_pairs((k, v) for k, v in run.settings.items() if k != 'skip')}",
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="{language()}"><head>{head}</head><body>{"".join(parts)}</body></html>'


def _what(run: Run) -> str:
    if run.kind == "training":
        return translate("Training and inference")
    return translate("The article, replayed") if run.kind == "replay" else workload_name(str(run.settings["operation"]))


def _figures(run: Run) -> Iterable[go.Figure]:
    found = _of_kind(run) if run.measurements else []
    for name, figure in found:
        figure.update_layout(title={"text": name, "y": 0.98}, template="plotly_white", height=520, margin_t=90)
        yield figure


def _of_kind(run: Run) -> list[tuple[str, go.Figure]]:
    if run.kind == "training":
        curves = curves_of(run)
        loss = [(translate("Loss"), training_charts.loss_against_images(curves, run))] if curves else []
        return [*loss, (translate("Where a training step's time goes"), training_charts.phases_of_a_step(run))]
    if run.kind == "replay":
        return [
            (translate("The article's clock over the wall"), article.clock_errors(run)),
            (translate("Matrix × vector by two clocks"), article.matvec_clocks(run)),
        ]
    axis, sizes = OPERATIONS[str(run.settings["operation"])].axis, sizes_of(run)
    crossings = [crossing for sweep_fit in sweep_fits(run).values() for crossing in sweep_fit.crossings]
    made = [
        (
            translate("Time per call against {axis}", axis=axis),
            sweep_charts.time_against_size(run, axis, sizes, True, crossings=crossings),
        )
    ]
    if len(run.variants) > 1:
        made.append(("Speed-up", sweep_charts.speedup_against_size(run, axis, sizes, True, crossings=crossings)))
    if run.devices != (REFERENCE,):
        made.append((translate("Three clocks"), sample_charts.clocks_against_size(run, axis, sizes, True)))
    if any(m.believed and m.cost.flops for m in run.measurements):
        made.append((translate("Roofline"), roofline_chart.roofline(run, ceilings.roofs(run))))
    return made


def _table(run: Run) -> str:
    rows = []
    for outcome, row in zip(run.outcomes, to_rows(run), strict=True):
        told = {
            translate("case"): f"{row['workload']} {row['size']}",
            translate("device"): variant_name(run, outcome.case.variant),
        }
        for column, (head, unit) in COLUMNS.items():
            value = row[column]
            told[translate(head)] = _figure(value, unit)
        rows.append(told | {translate("status"): translate(str(row["status"])), translate("note"): note(outcome)})
    frame = pd.DataFrame(rows)
    return frame.loc[:, (frame != "").any()].to_html(index=False, escape=True, border=0)


def _figure(value: object, unit: str) -> str:
    """A cell of the table; empty where there is no number."""
    if not isinstance(value, int | float):
        return ""
    return si(value, unit) if unit else significant(value)


def _pairs(pairs: Iterable[tuple[str, object]]) -> str:
    cells = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in pairs)
    return f"<table>{cells}</table>"
