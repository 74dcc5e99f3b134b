"""The article's two experiments, replayed here with its clocks and with the right ones."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench.measure.forecast import sweep_forecast, training_forecast
from bench.measure.plans import ReplayPlan, SweepPlan, TrainingPlan
from bench.measure.replay import replay
from bench.records.budget import EFFORTS
from bench.text.language import translatable, translate
from bench.text.units import duration
from bench.ui.charts import article
from bench.ui.parts.article_view import draw_replay, show_replay
from bench.ui.parts.controls import planned, rates
from bench.ui.parts.downloads import chart_config
from bench.ui.parts.live import follow, show_end, start_or_stop
from bench.ui.parts.notices import about_devices
from bench.ui.parts.session import load_torch, runner
from bench.ui.parts.training_controls import choose_training
from bench.workloads.article import ARTICLE_SIZES, published
from bench.workloads.datasets import FASHION, available

KIND = "replay"
CLAIM = translatable(
    "An article of December 2023 compared PyTorch on the CPU and on MPS of an {machine} and found a ConvNet to train "
    "**14 times as fast** on MPS, and a matrix-vector product up to 12 times. Its code is public, so that its "
    "method can be repeated anywhere. Press **Replay** to run both of its experiments on this machine, by its clocks "
    "and by ours."
)


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        training = choose_training(snapshot, article=True)
        plan = planned(lambda: _plan(training)) if training else None
    st.markdown(translate(CLAIM, machine=published()["machine"]))
    load_torch()
    if plan is None or not snapshot.devices:
        start_or_stop(snapshot, translate("Replay"), None, KIND)
    else:
        missing = plan.training.data == FASHION and not available()
        here = rates(snapshot)
        seconds = sweep_forecast(plan.sweep, here).seconds + 2 * training_forecast(plan.training, here).seconds
        blocked = translate("Download the images first, on the Training page, or choose others.") if missing else ""
        start_or_stop(
            snapshot,
            translate("Replay · about {time}", time=duration(seconds)),
            partial(replay, plan),
            KIND,
            plan.cases,
            blocked,
        )
        if missing and not snapshot.active:
            st.warning(
                translate("Fashion-MNIST is not on this machine yet. {blocked}", blocked=blocked),
                icon=":material/image:",
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
    st.subheader(translate("What was published"), anchor=False)
    figure = article.published_speedups()
    st.plotly_chart(
        figure, key="chart published", config=chart_config("published"), alt=translate("Published speed-ups of MPS.")
    )
    st.caption(
        translate(
            "Published, not measured here: {source}; {machine}.",
            source=published()["source"],
            machine=published()["machine"],
        )
    )
