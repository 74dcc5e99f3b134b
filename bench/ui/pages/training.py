"""Training and inference of the article's networks, on every device from the same weights and batches."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench.datasets import FASHION, available
from bench.download import fetch
from bench.estimate import training_outlook
from bench.plans import TrainingPlan
from bench.presets import TRAINING_PAGE
from bench.runner import Snapshot
from bench.training import train
from bench.ui.controls import choose_training, rates
from bench.ui.live import begin, follow, show_end, start_or_stop
from bench.ui.notices import about_devices
from bench.ui.questions import ask, asked
from bench.ui.session import load_torch, runner
from bench.ui.training_view import draw_training, show_training
from bench.units import duration, size
from bench.words import say

KIND, DOWNLOAD = "training", "download"


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        plan = choose_training(snapshot)
    st.markdown(
        say(
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
            say("Press **Run**. One epoch of both networks takes from seconds to a minute."), icon=":material/info:"
        )
        return
    show_end(last)
    if last.run and last.run.outcomes:
        show_training(last.run, last.curves)


def _button(plan: TrainingPlan | None, snapshot: Snapshot) -> None:
    if plan is None or not snapshot.devices:
        start_or_stop(snapshot, say("Run"), None, KIND)
        return
    missing = plan.data == FASHION and not available()
    outlook = training_outlook(plan, rates(snapshot))
    trainings = sum(case.workload.endswith("/train") for case in plan.cases)
    time = duration(outlook.seconds)
    label = (
        say("Run · 1 training · about {time}", time=time)
        if trainings == 1
        else say("Run · {trainings} trainings · about {time}", trainings=trainings, time=time)
    )
    job = partial(train, plan)
    if not missing and not snapshot.active and asked(TRAINING_PAGE):
        begin(job, KIND, plan.cases)
        st.rerun()
    start_or_stop(snapshot, label, job, KIND, plan.cases, say("Download the images first.") if missing else "")
    if snapshot.active:
        return
    st.caption(say("Needs about {memory} of memory.", memory=size(outlook.memory_bytes)))
    if missing:
        st.warning(
            say(
                "Fashion-MNIST is not on this machine yet. Download it (31 MB), or choose other images in the sidebar."
            ),
            icon=":material/image:",
        )
        st.button(
            say("Download Fashion-MNIST"),
            icon=":material/download:",
            key="fetch",
            on_click=begin,
            args=(fetch, DOWNLOAD),
        )
