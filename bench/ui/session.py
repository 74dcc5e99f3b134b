"""What outlives a rerun: the one runner of the process, and how a page waits for it."""

from contextlib import AbstractContextManager

import streamlit as st

from bench import models, ops  # noqa: F401  (importing them fills the registries)
from bench.runner import Runner, State

LOADING_POLL_S = 0.4
SEEN = "page_was_seen"


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """One per process, shared by all tabs: two runs at once would spoil both."""
    return Runner()


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
    st.caption(":material/hourglass_top: Loading PyTorch and looking for devices …")
