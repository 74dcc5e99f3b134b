"""Training and inference of the article's networks, on every device from the same weights and batches."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench.measure.download import fetch
from bench.measure.forecast import training_forecast
from bench.measure.job import Snapshot
from bench.measure.plans import TrainingPlan
from bench.measure.training import train
from bench.text.language import translate
from bench.text.units import duration, size
from bench.ui.parts.controls import rates
from bench.ui.parts.live import begin, follow, show_end, start_or_stop
from bench.ui.parts.notices import about_devices
from bench.ui.parts.preset_buttons import ask, asked
from bench.ui.parts.presets import TRAINING_PAGE
from bench.ui.parts.session import load_torch, runner
from bench.ui.parts.training_controls import choose_training
from bench.ui.parts.training_view import draw_training, show_training
from bench.workloads.datasets import FASHION, available

KIND, DOWNLOAD = "training", "download"


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        plan = choose_training(snapshot)
    st.markdown(
        translate(
            "Trains small networks on each device from the same weights, on the same batches in the same order. "
            "The loss curves should lie on each other: that is the sign that every device does the same work."
        )
    )
    load_torch()
    _button(plan, snapshot)
    about_devices(snapshot)
    ask(snapshot, TRAINING_PAGE)
    if follow(snapshot, KIND, draw_training):
        return
    download, last = runner().last(DOWNLOAD), runner().last(KIND)
    if download is snapshot or (download and snapshot.kind == DOWNLOAD):
        show_end(download)
    if last is None:
        st.info(
            translate("Press **Run**. One epoch of both networks takes from seconds to a minute."),
            icon=":material/info:",
        )
        return
    show_end(last)
    if last.run and last.run.outcomes:
        show_training(last.run, last.curves)


def _button(plan: TrainingPlan | None, snapshot: Snapshot) -> None:
    if plan is None or not snapshot.devices:
        start_or_stop(snapshot, translate("Run"), None, KIND)
        return
    missing = plan.data == FASHION and not available()
    forecast = training_forecast(plan, rates(snapshot))
    trainings = sum(case.workload.endswith("/train") for case in plan.cases)
    time = duration(forecast.seconds)
    label = (
        translate("Run · 1 training · about {time}", time=time)
        if trainings == 1
        else translate("Run · {trainings} trainings · about {time}", trainings=trainings, time=time)
    )
    job = partial(train, plan)
    if not missing and not snapshot.active and asked(TRAINING_PAGE):
        begin(job, KIND, plan.cases)
        st.rerun()
    start_or_stop(snapshot, label, job, KIND, plan.cases, translate("Download the images first.") if missing else "")
    if snapshot.active:
        return
    st.caption(translate("Needs about {memory} of memory.", memory=size(forecast.memory_bytes)))
    if missing:
        st.warning(
            translate(
                "Fashion-MNIST is not on this machine yet. Download it (31 MB), or choose other images in the sidebar."
            ),
            icon=":material/image:",
        )
        st.button(
            translate("Download Fashion-MNIST"),
            icon=":material/download:",
            key="fetch",
            on_click=begin,
            args=(fetch, DOWNLOAD),
        )
