"""Two or more runs side by side: what differs between the machines first, then how fast, then every case."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from bench.compare import COLUMNS, Comparison, compare, rows, sentence
from bench.results import Run
from bench.store import Head, Store, StoreError
from bench.ui import comparison_charts
from bench.ui.downloads import chart_config
from bench.ui.plain import plain
from bench.ui.session import kept
from bench.units import listed
from bench.words import phrase, say

MOST = 8  # runs at once
CHOICES = 200  # the newest; older ones are found on the History page
EXPLAINED = phrase(
    "**faster**, **slower**: the 95 % interval of the ratio excludes 1. **same**: it lies within 5 % of 1. "
    "**undecided**: neither. The interval knows how a run's rounds scatter, not how whole runs do: measure twice on "
    "the same machine to see that. Runs are never merged, and no best of several is taken."
)


def show() -> None:
    store = kept().store
    if store is None:
        st.info(say("Runs can't be kept on this machine now, so there is nothing to compare."), icon=":material/save:")
        return
    heads = {head.id: head for head in store.heads(limit=CHOICES)}
    if len(heads) < 2:
        st.info(say("Two runs are needed. Measure something twice, or add a file on the **History** page."))
        return
    chosen = _choose(heads)
    if len(chosen) < 2:
        st.info(say("Choose at least two runs; the first is what the others are compared with."))
        return
    runs = _load(store, chosen)
    if len(runs) < 2:
        return
    (first_id, first), *others = runs.items()
    names = {run_id: _name(heads[run_id]) for run_id in runs}
    for run_id, other in others:
        _comparison(compare(first, other), names[first_id], names[run_id], run_id, (first, other))
    st.caption(say(EXPLAINED))


def _choose(heads: dict[str, Head]) -> list[str]:
    wanted = st.session_state.pop("compared", None)
    if wanted:
        st.session_state["comparison"] = [run_id for run_id in wanted if run_id in heads][:MOST]
    return st.multiselect(
        say("Runs"),
        list(heads),
        key="comparison",
        format_func=lambda run_id: _name(heads[run_id]),
        max_selections=MOST,
        help=say("The first one is the reference. Runs of other machines come in through files, on the History page."),
        persist_state="session",
        bind="query-params",
    )


def _load(store: Store, run_ids: list[str]) -> dict[str, Run]:
    runs = {}
    for run_id in run_ids:
        try:
            runs[run_id] = store.load(run_id)
        except StoreError as error:
            st.error(plain(error), icon=":material/error:")
    return runs


def _name(head: Head) -> str:
    return f"{head.name or head.what} · {head.chip} · PyTorch {head.torch} · {head.captured_at[:16].replace('T', ' ')}"


def _comparison(found: Comparison, first: str, second: str, key: str, runs: tuple[Run, Run]) -> None:
    text = plain(sentence(found, say("the first run"), say("this run")))
    st.subheader(text[:1].upper() + text[1:], anchor=False)
    st.caption(say("This run: {second}. The first: {first}.", second=plain(second), first=plain(first)))
    if any(run.emulated for run in runs):
        st.warning(say("An **emulated** device is among them: its times are settings, not measurements."))
    if found.differences:
        st.markdown(say("**What else differs between the two:**"))
        table = pd.DataFrame(found.differences, columns=["what", "first run", "this run"])
        st.dataframe(
            table.rename(columns=say),
            hide_index=True,
            key=f"differences {key}",
            alt=say("What differs between the environments."),
        )
    if found.pairs:
        figure = comparison_charts.ratios(found, runs[1])
        alt = say("How many times as fast as the first run, for each case, with 95 % intervals; 1 is as fast.")
        st.plotly_chart(figure, key=f"chart ratios {key}", config=chart_config("comparison"), alt=alt)
        table = pd.DataFrame(rows(found), columns=["case", "first run", "this run", *COLUMNS])
        st.dataframe(
            table.rename(columns=say),
            hide_index=True,
            key=f"pairs {key}",
            alt=say("Every common case of the two runs."),
        )
    for cases, where in ((found.only_first, say("the first run")), (found.only_second, say("this run"))):
        if cases:
            st.caption(say("Only in {where}: {cases}.", where=where, cases=plain(listed([*map(str, cases)], 5))))
