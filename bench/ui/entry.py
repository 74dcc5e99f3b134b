"""How a page begins: its heading is there before its parts are imported, which takes longer than all else at first."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module

import streamlit as st

DRAWING = "bench.ui.session"


def page(name: str, title: str, icon: str, heading: str, default: bool = False):  # st.Page is a function
    """The page of the module ``bench.ui.pages.name``, under ``title`` in the navigation."""

    def show() -> None:
        # Before the first import of all nobody can be measuring; from then on the heading waits for the gate, too
        with import_module(DRAWING).drawing() if DRAWING in sys.modules else nullcontext():
            st.title(heading)
        with import_module(DRAWING).drawing():
            import_module("bench.ui.notices").about_store()
            import_module(f"bench.ui.pages.{name}").show()

    return st.Page(show, title=title, icon=f":material/{icon}:", url_path=name, default=default)
