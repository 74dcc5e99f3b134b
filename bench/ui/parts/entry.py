"""How a page begins: its heading is there before its parts are imported, which takes longer than all else at first."""

from __future__ import annotations

import sys
from importlib import import_module

import streamlit as st

DRAWING = "bench.ui.parts.session"


def page(name: str, title: str, icon: str, heading: str, default: bool = False):  # st.Page is a function
    """The page of the module ``bench.ui.pages.name``, under ``title`` in the navigation."""

    def show() -> None:
        first = DRAWING not in sys.modules  # nobody can be measuring yet; later the heading waits for the gate, too
        if first:
            st.title(heading)
        with import_module(DRAWING).drawing():
            if not first:
                st.title(heading)
            import_module("bench.ui.parts.notices").about_store()
            import_module(f"bench.ui.pages.{name}").show()

    return st.Page(show, title=title, icon=f":material/{icon}:", url_path=name, default=default)
