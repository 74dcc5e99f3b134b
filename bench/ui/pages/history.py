"""All runs that are kept: search, open, name, note, delete, take in from files, compare."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd
import streamlit as st

from bench.records.reason import Reason
from bench.storage.database import StoreError
from bench.storage.head import Head
from bench.storage.reading import read_files
from bench.storage.recorder import summary
from bench.storage.store import Store
from bench.text.language import language, speaking, translatable, translate
from bench.text.tell import tell
from bench.text.units import count
from bench.ui.pages import compare
from bench.ui.parts.plain import plain
from bench.ui.parts.run_view import show_run
from bench.ui.parts.session import kept

SHOWN = 500  # rows at once; searching finds the others
OPEN, UNDO = "open", "history undo"  # a run in the address; ids of the runs deleted last
NAMES = {
    "sweep": translatable("Sweep"),
    "aa": translatable("Against itself"),
    "training": translatable("Training"),
    "replay": translatable("The article"),
}
STATES = {
    "running": translatable("running"),
    "done": "",
    "stopped": translatable("stopped"),
    "broken": translatable("broke off"),
    "crashed": translatable("crashed"),
}


def show() -> None:
    store = kept().store
    if store is None:
        st.info(translate("Runs can't be kept on this machine now, so there is no history."), icon=":material/save:")
        return
    st.markdown(
        translate(
            "Every run is kept on this machine as it goes on. Select one to open it, two or more to compare them."
        )
    )
    _files(store)
    search = st.text_input(
        translate("Search"),
        key="search",
        placeholder="matmul M1 2026-11",
        icon=":material/search:",
        bind="query-params",
        help=translate(
            "Runs that have every one of these words in their name, note, date, chip, devices, operation or verdict."
        ),
    )
    heads = store.heads(search, limit=SHOWN, tell=_words)
    _undo(store)
    if not heads:
        nothing = translate("There is no run yet: measure something, or add a file.")
        st.info(translate("No run has all of these words.") if search else nothing)
        return
    chosen = _table(heads)
    _actions(store, chosen)
    if len(chosen) == 1:
        st.query_params[OPEN] = chosen[0].id
    elif chosen:
        st.query_params.pop(OPEN, None)
    if run_id := st.query_params.get(OPEN):
        _open(store, run_id)


def _words(summary: Reason | None) -> str:
    return _told(language(), summary)


@lru_cache(maxsize=2**14)  # of every run, at every turn of a page that is searched
def _told(reader: str, summary: Reason | None) -> str:
    with speaking(reader):
        return tell(summary)


def _table(heads: list[Head]) -> list[Head]:
    """The runs, newest first; those that were selected."""
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime([head.captured_at for head in heads], utc=True, errors="coerce"),
            "name": [head.name for head in heads],
            "kind": [translate(NAMES[head.kind]) for head in heads],
            "what": [head.what for head in heads],
            "devices": [head.devices for head in heads],
            "verdict": [tell(head.summary) for head in heads],
            "cases": [_cases(head) for head in heads],
            "chip": [head.chip for head in heads],
            "PyTorch": [head.torch for head in heads],
            "note": [head.note for head in heads],
        }
    )
    picked = st.dataframe(
        frame.rename(columns=translate),
        hide_index=True,
        key="runs",
        on_select="rerun",
        selection_mode="multi-row",
        height="auto",
        alt=translate("Table of runs, the newest first."),
        column_config={
            translate("when"): st.column_config.DatetimeColumn(translate("when (UTC)"), format="YYYY-MM-DD HH:mm"),
            translate("verdict"): st.column_config.TextColumn(width="large"),
        },
    )
    more = translate(" The newest {most}; search for others.", most=SHOWN) if len(heads) == SHOWN else ""
    number = count(len(heads))
    st.caption(
        (translate("{number} run.", number=number) if len(heads) == 1 else translate("{number} runs.", number=number))
        + more
    )
    return [heads[row] for row in picked.selection.rows if row < len(heads)]


def _cases(head: Head) -> str:
    state = STATES[head.state] or (translate("from a file") if head.origin == "file" else "")
    failed = translate(", {failures} failed", failures=head.failures) if head.failures else ""
    return (
        translate("{outcomes} of {planned}", outcomes=head.outcomes, planned=head.planned)
        + failed
        + (f" ({translate(state)})" if state else "")
    )


def _actions(store: Store, chosen: list[Head]) -> None:
    """What can be done with those selected."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if st.button(translate("Compare"), key="compare", icon=":material/compare_arrows:", disabled=len(chosen) < 2):
            st.session_state["compared"] = [head.id for head in chosen]
            st.switch_page(st.Page(compare.show, title=translate("Compare"), url_path="compare"))
        st.button(
            translate("Delete"),
            key="delete",
            icon=":material/delete:",
            disabled=not chosen,
            on_click=_delete,
            args=(store, [head.id for head in chosen]),
            help=translate("Can be undone until you leave this page."),
        )
    if len(chosen) == 1:
        head = chosen[0]
        name, note = st.columns((1, 2))
        name.text_input(translate("Name"), head.name, key=f"name {head.id}", on_change=_rename, args=(store, head.id))
        note.text_input(translate("Note"), head.note, key=f"note {head.id}", on_change=_annotate, args=(store, head.id))


def _open(store: Store, run_id: str) -> None:
    try:
        run = store.load(run_id)
    except StoreError as error:
        st.error(plain(tell(error.reason)), icon=":material/error:")
        return
    st.divider()
    if run.outcomes:
        show_run(run)
    else:
        st.info(translate("Nothing of this run was finished."))


def _files(store: Store) -> None:
    """Run files of other machines, dropped anywhere on the field."""
    with st.expander(translate("Add runs from files"), icon=":material/upload_file:"):
        uploads = st.file_uploader(
            translate("Run files (JSON)"),
            type="json",
            accept_multiple_files=True,
            key="files",
            help=translate("Files that this program wrote, on this machine or another: Run (JSON) below each result."),
        )
        taken: set[str] = st.session_state.setdefault("files taken", set())
        runs, complaints = read_files((one.name, one.getvalue()) for one in uploads if one.file_id not in taken)
        taken.update(one.file_id for one in uploads)
        for name, run in runs:
            store.add_file(run, name.removesuffix(".json"), summary(run))
            st.success(translate("{name} is added.", name=plain(name)), icon=":material/check:")
        for complaint in complaints:
            st.error(plain(tell(complaint)), icon=":material/error:")


def _undo(store: Store) -> None:
    if deleted := st.session_state.get(UNDO):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(translate("{number} deleted.", number=len(deleted)), width="content")
            st.button(translate("Undo"), key="undo", icon=":material/undo:", on_click=_restore, args=(store, deleted))


def _delete(store: Store, run_ids: list[str]) -> None:
    store.delete(*run_ids)
    st.session_state[UNDO] = run_ids
    st.query_params.pop(OPEN, None)


def _restore(store: Store, run_ids: list[str]) -> None:
    store.restore(*run_ids)
    st.session_state.pop(UNDO, None)


def _rename(store: Store, run_id: str) -> None:
    store.rename(run_id, st.session_state[f"name {run_id}"])


def _annotate(store: Store, run_id: str) -> None:
    store.annotate(run_id, st.session_state[f"note {run_id}"])
