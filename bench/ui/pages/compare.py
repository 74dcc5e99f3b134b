"""Two or more runs side by side: what differs between the machines first, then how fast, then every case."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import streamlit as st

from bench.analysis.comparison import Comparison, compare, summary
from bench.records.case import Case
from bench.records.run import Run
from bench.storage.database import StoreError
from bench.storage.head import Head
from bench.storage.store import Store
from bench.text.comparison import COLUMNS, differences, rows
from bench.text.language import translatable, translate
from bench.text.names import full_name
from bench.text.tell import tell
from bench.text.units import listed
from bench.ui.charts import comparison
from bench.ui.parts.downloads import chart_config
from bench.ui.parts.plain import plain
from bench.ui.parts.session import kept

MOST = 8  # runs at once
CHOICES = 200  # the newest; older ones are found on the History page
LABELS = (translatable("The first run"), translatable("Compared with"), translatable("And with"))
EXPLAINED = translatable(
    "**faster**, **slower**: the 95 % interval of the ratio excludes 1. **same**: it lies within 5 % of 1. "
    "**undecided**: neither. The interval knows how a run's rounds scatter, not how whole runs do: measure twice on "
    "the same machine to see that. Runs are never merged, and no best of several is taken."
)


def show() -> None:
    store = kept().store
    if store is None:
        st.info(
            translate("Runs can't be kept on this machine now, so there is nothing to compare."), icon=":material/save:"
        )
        return
    heads = {head.id: head for head in store.heads(limit=CHOICES)}
    if len(heads) < 2:
        st.info(translate("Two runs are needed. Measure something twice, or add a file on the **History** page."))
        return
    chosen = _choose(heads)
    if len(chosen) < 2:
        st.info(translate("Choose at least two runs; the first is what the others are compared with."))
        return
    runs = _load(store, chosen)
    if len(runs) < 2:
        return
    (first_id, first), *others = runs.items()
    names = {run_id: _name(heads[run_id]) for run_id in runs}
    for run_id, other in others:
        _comparison(compare(first, other), names[first_id], names[run_id], run_id, (first, other))
    st.caption(translate(EXPLAINED))


def _choose(heads: dict[str, Head]) -> list[str]:
    """A list for the first run, one for the second, and one more for as long as the last one is filled in."""
    if asked := st.session_state.pop("compared", None):
        wanted = [run_id for run_id in asked if run_id in heads]
        for number in range(MOST):
            st.session_state[_key(number)] = wanted[number] if number < len(wanted) else None
    likely = _twice_the_same(heads.values())
    chosen: list[str] = []
    for number in range(MOST):
        if number % 2 == 0:
            columns = st.columns(2)
        left = [run_id for run_id in heads if run_id not in chosen]
        usual = likely[number] if number < len(likely) else None
        run_id = columns[number % 2].selectbox(
            translate(LABELS[min(number, len(LABELS) - 1)]),
            left,
            index=left.index(usual) if usual in left else None,
            key=_key(number),
            format_func=lambda run_id: _name(heads[run_id]),
            placeholder=translate("Choose a run"),
            help=translate(
                "The newest {most} are here. Runs of other machines come in through files, on the History page.",
                most=CHOICES,
            ),
            persist_state="session",
            bind="query-params",
        )
        if run_id:
            chosen.append(run_id)
        elif number:
            break
    return chosen


def _key(number: int) -> str:
    return f"run{number + 1}"


def _twice_the_same(heads: Iterable[Head]) -> tuple[str, ...]:
    """The newest run that was measured before, the earlier one first; nothing if none was."""
    last: dict[tuple[str, str], Head] = {}
    pairs = []
    for head in sorted((head for head in heads if head.outcomes), key=lambda head: head.captured_at):
        before = last.get((head.kind, head.what))
        if before:
            pairs.append((before.id, head.id))
        last[head.kind, head.what] = head
    return pairs[-1] if pairs else ()


def _load(store: Store, run_ids: list[str]) -> dict[str, Run]:
    runs = {}
    for run_id in run_ids:
        try:
            runs[run_id] = store.load(run_id)
        except StoreError as error:
            st.error(plain(tell(error.reason)), icon=":material/error:")
    return runs


def _name(head: Head) -> str:
    return f"{head.name or head.what} · {head.chip} · PyTorch {head.torch} · {head.captured_at[:19].replace('T', ' ')}"


def _comparison(found: Comparison, first: str, second: str, key: str, runs: tuple[Run, Run]) -> None:
    def named(case: Case) -> str:
        return full_name(runs[case in found.only_second], case)

    text = plain(tell(summary(found, translate("the first run"), translate("this run"))))
    st.subheader(text[:1].upper() + text[1:], anchor=False)
    st.caption(translate("This run: {second}. The first: {first}.", second=plain(second), first=plain(first)))
    if any(run.emulated for run in runs):
        st.warning(translate("An **emulated** device is among them: its times are settings, not measurements."))
    if found.differences:
        st.markdown(translate("**What else differs between the two:**"))
        table = pd.DataFrame(differences(found), columns=["what", "first run", "this run"])
        st.dataframe(
            table.rename(columns=translate),
            hide_index=True,
            key=f"differences {key}",
            alt=translate("What differs between the environments."),
        )
    if found.pairs:
        figure = comparison.ratios(found, runs[1])
        alt = translate("How many times as fast as the first run, for each case, with 95 % intervals; 1 is as fast.")
        st.plotly_chart(figure, key=f"chart ratios {key}", config=chart_config("comparison"), alt=alt)
        table = pd.DataFrame(rows(found, named), columns=["case", "first run", "this run", *COLUMNS])
        st.dataframe(
            table.rename(columns=translate),
            hide_index=True,
            key=f"pairs {key}",
            alt=translate("Every common case of the two runs."),
        )
    for cases, where in ((found.only_first, translate("the first run")), (found.only_second, translate("this run"))):
        if cases:
            st.caption(
                translate("Only in {where}: {cases}.", where=where, cases=plain(listed([*map(named, cases)], 5)))
            )
