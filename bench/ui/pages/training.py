"""Training and inference of the article's networks, on every device from the same weights and batches."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench import verdict
from bench.cases import TrainingPlan
from bench.datasets import FASHION, available
from bench.download import fetch
from bench.estimate import training_outlook
from bench.results import Run
from bench.runner import Snapshot
from bench.training import train
from bench.ui import charts, tables
from bench.ui.controls import choose_training, rates
from bench.ui.downloads import chart_config, show_downloads
from bench.ui.live import begin, follow, show_end, start_or_stop
from bench.ui.notices import about_devices, about_run
from bench.ui.plain import plain
from bench.ui.session import load_torch, runner
from bench.units import duration, size

KIND, DOWNLOAD = "training", "download"
HEADLINE = (
    "**Training** and **inference** are wall-clock seconds with the device waited for, and contain loading "
    "(taking a batch from memory), copying it to the device, and computing. They do not contain warm-up, "
    "reading the loss, or the test. Where a step's time goes is measured apart, waiting after each phase, "
    "so that the phases may add up to more than a step."
)


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        plan = choose_training(snapshot)
    st.title("Training on CPU or GPU?")
    st.markdown(
        "Trains small networks on each device from the same weights, on the same batches in the same order. "
        "The loss curves should lie on each other: that is the sign that every device does the same work."
    )
    load_torch()
    _button(plan, snapshot)
    about_devices(snapshot)
    if follow(snapshot, KIND, _draw):
        return
    download, last = runner().last(DOWNLOAD), runner().last(KIND)
    if download is snapshot or (download and snapshot.kind == DOWNLOAD):
        show_end(download)
    if last is None:
        st.info("Press **Run**. One epoch of both networks takes from seconds to a minute.", icon=":material/info:")
        return
    show_end(last)
    if last.run and last.run.outcomes:
        _results(last)


def _button(plan: TrainingPlan | None, snapshot: Snapshot) -> None:
    if plan is None or not snapshot.devices:
        start_or_stop(snapshot, "Run", None, KIND)
        return
    missing = plan.data == FASHION and not available()
    outlook = training_outlook(plan, rates(snapshot))
    label = f"Run · {len(plan.networks) * len(plan.devices)} trainings · about {duration(outlook.seconds)}"
    start_or_stop(
        snapshot, label, partial(train, plan), KIND, plan.cases, "Download the images first." if missing else ""
    )
    if snapshot.active:
        return
    st.caption(f"Needs about {size(outlook.memory_bytes)} of memory.")
    if missing:
        st.warning(
            "Fashion-MNIST is not on this machine yet. Download it (31 MB), or choose other images in the sidebar.",
            icon=":material/image:",
        )
        st.button(
            "Download Fashion-MNIST", icon=":material/download:", key="fetch", on_click=begin, args=(fetch, DOWNLOAD)
        )


def _draw(snapshot: Snapshot) -> None:
    """While it runs, and the same two charts afterwards."""
    run = snapshot.run
    if run is None or not snapshot.curves:
        return
    left, right = st.columns(2)
    with left:
        figure = charts.loss_against_images(snapshot.curves, run)
        st.plotly_chart(figure, key="chart loss", config=chart_config("loss"), alt="Training loss against images seen.")
    with right:
        figure = charts.time_against_epoch(snapshot.curves, int(run.settings["images"]), run)
        st.plotly_chart(
            figure, key="chart epochs", config=chart_config("time"), alt="Training time against epochs done."
        )
    tables.failures(run)


def _results(last: Snapshot) -> None:
    """When it is over."""
    run = last.run
    for sentence in verdict.of_training(run):
        st.subheader(sentence, anchor=False)
    about_run(run)
    for line in verdict.doubts(run):
        st.caption(f":material/warning: {plain(line)}")
    if run.measurements:
        tables.recap_table(run)
        st.caption(HEADLINE)
        st.caption(f"Images: {plain(run.settings['data'])}.")
    _draw(last)
    if not run.measurements:
        return
    st.subheader("Where a training step's time goes", anchor=False)
    figure = charts.phases_of_a_step(run)
    st.plotly_chart(
        figure, key="chart phases", config=chart_config("phases"), alt="Phases of a training step, by device."
    )
    show_downloads(run, partial(_loss_chart, run, last), "Training: loss against images seen")


def _loss_chart(run: Run, last: Snapshot):
    return charts.loss_against_images(last.curves, run)
