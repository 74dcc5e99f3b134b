"""Common questions as buttons: each fills the page's controls and starts."""

from __future__ import annotations

import streamlit as st

from bench.measure.job import Snapshot
from bench.records.run import REFERENCE
from bench.text.language import translate
from bench.ui.parts.presets import PRESETS, Preset, choices_of

START = "start_as_asked"  # the page on which a question waits to be started


def ask(snapshot: Snapshot, page: str) -> None:
    """The page's questions, folded away; open where only the CPU is here, those that it can answer first."""
    if snapshot.active:
        return
    alone = {device.name for device in snapshot.usable} == {REFERENCE}
    mine = [preset for preset in PRESETS if preset.page == page]
    first = [preset for preset in mine if alone and preset.alone]
    if first:
        with st.container(horizontal=True):
            for preset in first:
                _button(preset, page)
    rest = [preset for preset in mine if preset not in first]
    with st.popover(translate("Common questions"), icon=":material/quiz:"):
        st.caption(translate("One click sets the controls at the side and starts."))
        for preset in rest:
            _button(preset, page)


def asked(page: str) -> bool:
    """Was a question of this page clicked, and not yet started? True once."""
    if st.session_state.get(START) != page:
        return False
    del st.session_state[START]
    return True


def _button(preset: Preset, page: str) -> None:
    st.button(
        translate(preset.question),
        key=f"ask {preset.name}",
        icon=":material/play_arrow:",
        on_click=_fill,
        args=(preset, page),
    )


def _fill(preset: Preset, page: str) -> None:
    for key, value in choices_of(preset).items():
        st.session_state[key] = value
    st.session_state[START] = page
