"""What is here, what is missing, and the exact command or setting that mends it."""

from __future__ import annotations

import streamlit as st

from bench.doctor import Finding, examine
from bench.home import VARIABLE, bench_home
from bench.ui.session import kept, load_torch, runner
from bench.units import size


def show() -> None:
    st.title("This machine")
    st.markdown("What the benchmark found here. The same list comes from `python -m bench doctor`.")
    load_torch()
    snapshot = runner().snapshot
    if not snapshot.devices:
        return
    for finding in examine(snapshot.devices):
        _line(finding)
    store = kept().store
    runs = f" Runs: {store.path}, {size(store.size_bytes())}." if store else ""
    st.caption(f"Everything this program writes lies in {bench_home()}; set {VARIABLE} to change that.{runs}")


def _line(finding: Finding) -> None:
    if finding.good:
        icon, color = ":material/check_circle:", "green"
    elif finding.needed:
        icon, color = ":material/error:", "red"
    else:
        icon, color = ":material/do_not_disturb_on:", "gray"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(finding.name, icon=icon, color=color)
        st.markdown(f"{finding.text} {finding.mend}", width="stretch")
