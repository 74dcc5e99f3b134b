"""The language of the page: chosen at its foot or by the address, else the browser's own."""

from __future__ import annotations

import threading

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from bench.text import language

KEY = "lang"
_heard = threading.local()  # each number of a table asks; session state would cost more than the table


def hear_language() -> None:
    """Everything that is said from now on is in the visitor's language."""
    language.listen(_chosen)
    _heard.context = None


def choose_language() -> None:
    """The choice; drawn last, since a page's first control takes a tenth of a second that its heading need not wait."""
    st.segmented_control(
        "Language · Bahasa",
        list(language.LANGUAGES),
        format_func=lambda name: language.LANGUAGES.get(name, name),
        default=_of_browser(),
        required=True,
        key=KEY,
        on_change=_say_again,
        label_visibility="collapsed",
        persist_state="session",
        bind="query-params",
    )


def _say_again() -> None:
    """What was chosen stays chosen under its new label: still read by the old ones here, written by the new."""
    for key, value in st.session_state.items():
        if isinstance(value, str | list):  # choices; the browser sends their labels. Of a button, Streamlit refuses it
            st.session_state[key] = value


def _chosen() -> str:
    """Of the visitor for whom this thread draws; English for a thread that draws for nobody."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return language.ENGLISH
    if getattr(_heard, "context", None) is not context:
        _heard.context, _heard.language = context, st.session_state.get(KEY) or _of_address() or _of_browser()
    return _heard.language


def _of_address() -> str | None:
    """What the address will make the choice be once it is drawn."""
    return next((name for name, label in language.LANGUAGES.items() if label == st.query_params.get(KEY)), None)


def _of_browser() -> str:
    name = (st.context.locale or "").partition("-")[0]
    return name if name in language.LANGUAGES else language.ENGLISH
