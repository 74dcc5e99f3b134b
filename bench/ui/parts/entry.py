"""How a page begins: its heading is there before its parts are imported, which takes longer than all else at first."""

from __future__ import annotations

import sys
from collections.abc import Callable

import streamlit as st

# A page's modules bring pandas and Plotly with them, which take a second to load at the first visit: each is imported
# when it is shown, behind its heading, and none of those that are not.


def _operations() -> None:
    from bench.ui.pages import operations

    operations.show()


def _training() -> None:
    from bench.ui.pages import training

    training.show()


def _article() -> None:
    from bench.ui.pages import article

    article.show()


def _history() -> None:
    from bench.ui.pages import history

    history.show()


def _compare() -> None:
    from bench.ui.pages import compare

    compare.show()


def _recorded() -> None:
    from bench.ui.pages import recorded

    recorded.show()


def _machine() -> None:
    from bench.ui.pages import machine

    machine.show()


PAGES: dict[str, Callable[[], None]] = {
    "operations": _operations,
    "training": _training,
    "article": _article,
    "history": _history,
    "compare": _compare,
    "recorded": _recorded,
    "machine": _machine,
}


def page(name: str, title: str, icon: str, heading: str, default: bool = False):  # st.Page is a function
    """One of PAGES, under ``title`` in the navigation; KeyError if there is no such page."""
    body = PAGES[name]

    def show() -> None:
        first = "bench.ui.parts.session" not in sys.modules  # so nobody can be measuring; later the heading waits, too
        if first:
            st.title(heading)
        from bench.ui.parts.notices import about_store  # behind the heading, as a page's own parts
        from bench.ui.parts.session import drawing

        with drawing():
            if not first:
                st.title(heading)
            about_store()
            body()

    return st.Page(show, title=title, icon=f":material/{icon}:", url_path=name, default=default)
