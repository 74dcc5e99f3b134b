"""Explore a recorded run: what the dashboard shows, without waiting and without an accelerator."""

from __future__ import annotations

import streamlit as st

from bench.recorded import TITLES, load_recorded
from bench.recorder import summary
from bench.results import Run
from bench.ui.charts import provenance
from bench.ui.plain import plain
from bench.ui.session import kept
from bench.ui.views import show_run
from bench.words import say


def show() -> None:
    name = st.selectbox(
        say("Run"), list(TITLES), format_func=lambda name: say(TITLES[name]), key="recorded", bind="query-params"
    )
    run = _load(name)
    hardware = say(" and ").join(dict.fromkeys(run.environment.devices.values()))
    st.info(
        say(
            "**Recorded elsewhere, not measured on this machine**: {hardware}. {provenance}.",
            hardware=plain(hardware),
            provenance=plain(provenance(run)),
        ),
        icon=":material/inventory_2:",
    )
    store = kept().store
    if store and st.button(
        say("Add to my history"), icon=":material/history:", help=say("To compare it with runs of yours.")
    ):
        store.add_file(run, TITLES[name], summary(run))
        st.toast(say("Added; it is on the History page."), icon=":material/check:")
    show_run(run)


@st.cache_resource(show_spinner=False)  # the same run each time: what is derived from it stays with it
def _load(name: str) -> Run:
    return load_recorded(name)
