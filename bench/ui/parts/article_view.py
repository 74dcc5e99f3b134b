"""The article replayed: by its clocks and by the wall, while it runs and when it is over."""

from __future__ import annotations

from functools import partial

import streamlit as st

from bench.analysis.article_clocks import of_replay, readings
from bench.measure.job import Snapshot
from bench.records.run import Run
from bench.text.language import translatable, translate
from bench.text.tell import tell
from bench.ui.charts import article
from bench.ui.parts import tables
from bench.ui.parts.chart_cache import show_chart
from bench.ui.parts.downloads import show_downloads
from bench.ui.parts.notices import about_run
from bench.ui.parts.plain import plain

MATVEC = translatable(
    "The article's clock stopped when the product had been *queued*, while the accelerator was still at work, and it "
    "had not let the device warm up. So on an accelerator it shows the time of handing over, not of computing: dashed, "
    "almost flat. The solid lines wait for the device; where the two lie on each other, as on the CPU of a quiet "
    "machine, the article's clock was right."
)


def draw_replay(snapshot: Snapshot) -> None:
    """While it runs."""
    if snapshot.run and readings(snapshot.run):
        _matvec(snapshot.run)
        tables.replay_table(snapshot.run)


def show_replay(run: Run) -> None:
    """When it is over: what the clocks say, and why they differ."""
    about_run(run)
    for sentence in of_replay(run):
        st.markdown(f"**{plain(tell(sentence))}**")
    if not readings(run):
        tables.failures(run)
        return
    st.subheader(translate("Training and inference: how far the article's clock was off"), anchor=False)
    alt = translate("The article's clock over the wall.")
    show_chart(run, "errors", partial(article.clock_errors, run), alt=alt, file="clocks")
    st.caption(
        translate(
            "`process_time` adds up the CPU seconds of all threads and leaves out the time spent waiting. On the "
            "CPU it therefore reads up to as many times too long as threads are busy, on an accelerator too "
            "short, as long as the CPU only waits. Both errors favour the accelerator; at 1 the clock is right."
        )
    )
    st.subheader(translate("Matrix × vector: what the clock did not wait for"), anchor=False)
    _matvec(run)
    tables.replay_table(run)
    tables.failures(run)
    st.caption(
        translate(
            "Published figures are the article's, of an M1 Pro with PyTorch 2.1.2. The loader here takes images from "
            "memory one by one, as the article's did from a file, but without decoding them."
        )
    )
    show_downloads(run, lambda: article.matvec_clocks(run), translate("Matrix × vector by two clocks"))


def _matvec(run: Run) -> None:
    alt = translate(
        "Time of a matrix-vector product against size, by the article's clock (dashed) and by the wall (solid)."
    )
    show_chart(run, "matvec", partial(article.matvec_clocks, run), alt=alt, file="matvec-clocks")
    st.caption(translate(MATVEC))
