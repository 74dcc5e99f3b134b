"""Explore a recorded run: what the dashboard shows, without waiting and without an accelerator."""

from __future__ import annotations

from typing import cast

import streamlit as st

from bench.records.run import Run
from bench.storage.recorded import TITLES, load_recorded
from bench.storage.recorder import summary
from bench.text.language import translate
from bench.ui.charts.base import provenance
from bench.ui.parts.plain import plain
from bench.ui.parts.run_view import show_run
from bench.ui.parts.session import kept


def show() -> None:
    choice = st.selectbox(
        translate("Run"),
        list(TITLES),
        format_func=lambda name: translate(TITLES[name]),
        key="recorded",
        bind="query-params",
    )
    name = cast(str, choice)  # Streamlit's types, read for Python 3.10, call it None
    run = _load(name)
    hardware = translate(" and ").join(dict.fromkeys(run.environment.devices.values()))
    st.info(
        translate(
            "**Recorded elsewhere, not measured on this machine**: {hardware}. {provenance}.",
            hardware=plain(hardware),
            provenance=plain(provenance(run)),
        ),
        icon=":material/inventory_2:",
    )
    store = kept().store
    if store and st.button(
        translate("Add to my history"), icon=":material/history:", help=translate("To compare it with runs of yours.")
    ):
        store.add_file(run, TITLES[name], summary(run))
        st.toast(translate("Added; it is on the History page."), icon=":material/check:")
    show_run(run)


@st.cache_resource(show_spinner=False)  # the same run each time: what is derived from it stays with it
def _load(name: str) -> Run:
    return load_recorded(name)
