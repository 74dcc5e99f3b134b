"""The article's two experiments, replayed here with its clocks and with the right ones."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench.cases import EFFORTS, ReplayPlan, SweepPlan
from bench.datasets import FASHION, available
from bench.estimate import sweep_outlook, training_outlook
from bench.registry import ARTICLE_SIZES
from bench.replay import published, readings, replay, sentences
from bench.results import Run
from bench.runner import Snapshot
from bench.ui import pictures, tables
from bench.ui.controls import choose_training, rates
from bench.ui.downloads import chart_config, show_downloads
from bench.ui.live import follow, show_end, start_or_stop
from bench.ui.notices import about_devices, about_run
from bench.ui.session import load_torch, runner
from bench.units import duration

KIND = "replay"
CLAIM = (
    "An article of December 2023 compared PyTorch on the CPU and on MPS of an {machine} and found a ConvNet to train "
    "**14 times as fast** on MPS, and a matrix-vector product up to 12 times. Its code is public, so that its "
    "method can be repeated anywhere. Press **Replay** to run both of its experiments on this machine, by its clocks "
    "and by ours."
)
MATVEC = (
    "The article's clock stopped when the product had been *queued*, while the accelerator was still at work, and it "
    "had not let the device warm up. So on an accelerator it shows the time of handing over, not of computing: dashed, "
    "almost flat. The solid lines wait for the device; where the two lie on each other, as on the CPU of a quiet "
    "machine, the article's clock was right."
)


def show() -> None:
    snapshot = runner().snapshot
    with st.sidebar:
        training = choose_training(snapshot)
    st.title("The article, replayed")
    st.markdown(CLAIM.format(machine=published()["machine"]))
    load_torch()
    if training is None or not snapshot.devices:
        start_or_stop(snapshot, "Replay", None, KIND)
    else:
        plan = ReplayPlan(SweepPlan("matvec", ARTICLE_SIZES, training.devices, EFFORTS["quick"]), training)
        missing = training.data == FASHION and not available()
        here = rates(snapshot)
        seconds = sweep_outlook(plan.sweep, here).seconds + 2 * training_outlook(training, here).seconds
        blocked = "Download the images first, on the Training page, or choose others." if missing else ""
        start_or_stop(snapshot, f"Replay · about {duration(seconds)}", partial(replay, plan), KIND, plan.cases, blocked)
        if missing and not snapshot.active:
            st.warning(f"Fashion-MNIST is not on this machine yet. {blocked}", icon=":material/image:")
    about_devices(snapshot)
    if follow(snapshot, KIND, _draw):
        return
    last = runner().last(KIND)
    if last is None:
        _claimed()
        return
    show_end(last)
    if last.run and last.run.outcomes:
        about_run(last.run)
        _story(last.run)


def _claimed() -> None:
    """The published figures, dimmed and labelled, until there are some of this machine."""
    st.subheader("What was published", anchor=False)
    figure = pictures.published_speedups()
    st.plotly_chart(figure, key="chart published", config=chart_config("published"), alt="Published speed-ups of MPS.")
    st.caption(f"Published, not measured here: {published()['source']}; {published()['machine']}.")


def _draw(snapshot: Snapshot) -> None:
    """While it runs."""
    if snapshot.run and readings(snapshot.run):
        _matvec(snapshot.run)
        tables.replay_table(snapshot.run)


def _story(run: Run) -> None:
    """When it is over: what the clocks say, and why they differ."""
    for sentence in sentences(run):
        st.markdown(f"**{sentence}**")
    if not readings(run):
        tables.failures(run)
        return
    st.subheader("Training and inference: how far the article's clock was off", anchor=False)
    figure = pictures.clock_errors(run)
    st.plotly_chart(figure, key="chart errors", config=chart_config("clocks"), alt="The article's clock over the wall.")
    st.caption(
        "`process_time` adds up the CPU seconds of all threads and leaves out the time spent waiting. On the CPU it "
        "therefore reads up to as many times too long as threads are busy, on an accelerator too short, as long as the "
        "CPU only waits. Both errors favour the accelerator; at 1 the clock is right."
    )
    st.subheader("Matrix × vector: what the clock did not wait for", anchor=False)
    _matvec(run)
    tables.replay_table(run)
    tables.failures(run)
    st.caption(
        "Published figures are the article's, of an M1 Pro with PyTorch 2.1.2. The loader here takes images from "
        "memory one by one, as the article's did from a file, but without decoding them."
    )
    show_downloads(run, lambda: pictures.matvec_clocks(run), "Matrix × vector by two clocks")


def _matvec(run: Run) -> None:
    figure = pictures.matvec_clocks(run)
    alt = "Time of a matrix-vector product against size, by the article's clock (dashed) and by the wall (solid)."
    st.plotly_chart(figure, key="chart matvec", config=chart_config("matvec-clocks"), alt=alt)
    st.caption(MATVEC)
