"""The article's two experiments, replayed here with its clocks and with the right ones."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench.cases import EFFORTS
from bench.datasets import FASHION, available
from bench.estimate import sweep_outlook, training_outlook
from bench.plans import ReplayPlan, SweepPlan, TrainingPlan
from bench.registry import ARTICLE_SIZES
from bench.replay import published, replay
from bench.ui import pictures
from bench.ui.article_view import draw_replay, show_replay
from bench.ui.controls import choose_training, planned, rates
from bench.ui.downloads import chart_config
from bench.ui.live import follow, show_end, start_or_stop
from bench.ui.notices import about_devices
from bench.ui.session import load_torch, runner
from bench.units import duration
from bench.words import phrase, say

KIND = "replay"
CLAIM = phrase(
    "An article of December 2023 compared PyTorch on the CPU and on MPS of an {machine} and found a ConvNet to train "
    "**14 times as fast** on MPS, and a matrix-vector product up to 12 times. Its code is public, so that its "
    "method can be repeated anywhere. Press **Replay** to run both of its experiments on this machine, by its clocks "
    "and by ours."
)


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        training = choose_training(snapshot, article=True)
        plan = training and planned(lambda: _plan(training))
    st.markdown(say(CLAIM, machine=published()["machine"]))
    load_torch()
    if plan is None or not snapshot.devices:
        start_or_stop(snapshot, say("Replay"), None, KIND)
    else:
        missing = training.data == FASHION and not available()
        here = rates(snapshot)
        seconds = sweep_outlook(plan.sweep, here).seconds + 2 * training_outlook(training, here).seconds
        blocked = say("Download the images first, on the Training page, or choose others.") if missing else ""
        start_or_stop(
            snapshot,
            say("Replay · about {time}", time=duration(seconds)),
            partial(replay, plan),
            KIND,
            plan.cases,
            blocked,
        )
        if missing and not snapshot.active:
            st.warning(
                say("Fashion-MNIST is not on this machine yet. {blocked}", blocked=blocked), icon=":material/image:"
            )
    about_devices(snapshot)
    if follow(snapshot, KIND, draw_replay):
        return
    last = runner().last(KIND)
    if last is None:
        _claimed()
        return
    show_end(last)
    if last.run and last.run.outcomes:
        show_replay(last.run)


def _plan(training: TrainingPlan) -> ReplayPlan:
    return ReplayPlan(SweepPlan("matvec", ARTICLE_SIZES, training.devices, EFFORTS["quick"]), training)


def _claimed() -> None:
    """The published figures, dimmed and labelled, until there are some of this machine."""
    st.subheader(say("What was published"), anchor=False)
    figure = pictures.published_speedups()
    st.plotly_chart(
        figure, key="chart published", config=chart_config("published"), alt=say("Published speed-ups of MPS.")
    )
    st.caption(
        say(
            "Published, not measured here: {source}; {machine}.",
            source=published()["source"],
            machine=published()["machine"],
        )
    )
