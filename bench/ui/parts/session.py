"""What outlives a rerun: the one runner of the process, the store, and how a page waits for PyTorch."""

from contextlib import AbstractContextManager

import streamlit as st

from bench.measure.job import State
from bench.measure.runner import Runner
from bench.records.reason import Reason
from bench.storage.database import StoreError
from bench.storage.head import Head
from bench.storage.recorder import Recorder
from bench.storage.store import Store, open_store
from bench.text.language import translate

LOADING_POLL_S = 0.4
SEEN = "page_was_seen"


class Kept:
    """The store of runs, opened once per process, and what was found at that time."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.notices: list[Reason] = []  # for the page
        self.refused: Reason | None = None  # why there is no store
        self.crashed: list[Head] = []  # runs that a crash had ended, as they were then; dismissed ones are gone
        try:
            self.store = open_store()
            self.notices += self.store.notices
            self.crashed = self.store.recover_all()
        except StoreError as error:
            self.refused = error.reason


@st.cache_resource(show_spinner=False)
def kept() -> Kept:
    """One per process."""
    return Kept()


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """One per process, shared by all tabs: two runs at once would spoil both."""
    store = kept().store
    return Runner(recorder=Recorder(store) if store else None)


def drawing() -> AbstractContextManager[bool]:
    """Everything a page draws is drawn in here: between two timed stretches, never during one."""
    return runner().drawing()


def load_torch() -> None:
    """Bring PyTorch in once the page is there: importing it first made the first visit six times as slow.

    A fragment asks again by itself only when the browser shows it, so that its second turn is the proof.
    """
    if runner().snapshot.state in (State.ASLEEP, State.LOADING):
        st.fragment(_wait_for_torch, run_every=LOADING_POLL_S)()


def _wait_for_torch() -> None:
    if st.session_state.setdefault(SEEN, False):
        runner().wake()
    st.session_state[SEEN] = True
    if runner().snapshot.state not in (State.ASLEEP, State.LOADING):
        st.rerun()
    st.caption(translate(":material/hourglass_top: Loading PyTorch and looking for devices …"))
