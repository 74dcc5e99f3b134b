"""A training, while it runs and when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from bench.analysis import training_verdict
from bench.measure.job import Snapshot
from bench.records.curve import Curve, curves_of
from bench.records.run import Run
from bench.text.language import translatable, translate
from bench.text.tell import tell
from bench.ui.charts import training_charts
from bench.ui.parts import tables
from bench.ui.parts.chart_cache import show_chart
from bench.ui.parts.downloads import chart_config, show_downloads
from bench.ui.parts.explore import show_any_axis
from bench.ui.parts.notices import about_caveats, about_run, headlines
from bench.ui.parts.plain import plain

HEADLINE = translatable(
    "**Training** and **inference** are wall-clock seconds with the device waited for, and contain loading "
    "(taking a batch from memory), copying it to the device, and computing. They do not contain warm-up, "
    "reading the loss, or the test. Where a step's time goes is measured apart, waiting after each phase, "
    "so that the phases may add up to more than a step."
)


def draw_training(snapshot: Snapshot) -> None:
    """While it runs."""
    if snapshot.run:
        _curves(snapshot.run, snapshot.curves)


def _curves(run: Run, curves: Sequence[Curve]) -> None:
    """Loss and time, while it runs and afterwards."""
    if not curves:
        return
    left, right = st.columns(2)
    with left:
        figure = training_charts.loss_against_images(curves, run)
        st.plotly_chart(
            figure, key="chart loss", config=chart_config("loss"), alt=translate("Training loss against images seen.")
        )
    with right:
        figure = training_charts.time_against_epoch(curves, int(str(run.settings["images"])), run)
        st.plotly_chart(
            figure, key="chart epochs", config=chart_config("time"), alt=translate("Training time against epochs done.")
        )
    tables.failures(run)


def show_training(run: Run, curves: Sequence[Curve] = ()) -> None:
    """Everything of a training that is over; a run read from a file has its curves in its measurements."""
    curves = curves or curves_of(run)
    headlines(training_verdict.of_training(run))
    for sentence in training_verdict.of_singles(run):
        st.markdown(plain(tell(sentence)))
    about_run(run)
    about_caveats(run)
    if run.measurements:
        tables.recap_table(run)
        if st.toggle(
            translate("Beside the article's figures"),
            key="published",
            help=translate("As published, of another machine."),
        ):
            tables.published_table()
        st.caption(translate(HEADLINE))
        st.caption(f"Images: {plain(run.settings['data'])}.")
        if energy := training_verdict.about_energy(run):
            st.caption(plain(" ".join(map(tell, energy))))
    _curves(run, curves)
    if not run.measurements:
        return
    st.subheader(translate("Where a training step's time goes"), anchor=False)
    alt = translate("Phases of a training step, by device.")
    show_chart(run, "phases", partial(training_charts.phases_of_a_step, run), alt=alt)
    with st.expander(translate("Any axis on x, any as lines"), icon=":material/query_stats:"):
        show_any_axis(run, "any")
    show_downloads(
        run, partial(training_charts.loss_against_images, curves, run), translate("Training: loss against images seen")
    )
