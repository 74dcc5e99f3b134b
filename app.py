"""PyTorch on CPU and Apple MPS, side by side. Run with: streamlit run app.py"""

import streamlit as st

from bench.ui.language import choose_language
from bench.ui.notices import about_store
from bench.ui.pages import article, compare, history, machine, operations, recorded, training
from bench.ui.session import drawing
from bench.words import say

st.set_page_config(page_title="CPU or GPU?", page_icon="⏱️", layout="wide")
body, foot = st.container(), st.container()
with foot:
    choose_language()  # first, though it stands last: titles are said in it
pages = (
    (operations, say("Operations"), "calculate"),
    (training, say("Training"), "school"),
    (article, say("The article"), "article"),
    (history, say("History"), "history"),
    (compare, say("Compare"), "compare_arrows"),
    (recorded, say("Recorded runs"), "inventory_2"),
    (machine, say("This machine"), "memory"),
)
page = st.navigation(
    [
        st.Page(
            module.show,
            title=title,
            icon=f":material/{icon}:",
            url_path=module.__name__.rpartition(".")[2],
            default=module is operations,
        )
        for module, title, icon in pages
    ],
    position="top",
)
with body, drawing():
    about_store()
    page.run()
