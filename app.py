"""PyTorch on CPU and Apple MPS, side by side. Run with: streamlit run app.py"""

import streamlit as st

from bench.ui.entry import page
from bench.ui.language import choose_language, hear_language
from bench.words import say

st.set_page_config(page_title="CPU or GPU?", layout="wide")
hear_language()
chosen = st.navigation(
    [
        page("operations", say("Operations"), "calculate", say("CPU or GPU, and from which size?"), default=True),
        page("training", say("Training"), "school", say("Training on CPU or GPU?")),
        page("article", say("The article"), "article", say("The article, replayed")),
        page("history", say("History"), "history", say("History")),
        page("compare", say("Compare"), "compare_arrows", say("Compare")),
        page("recorded", say("Recorded runs"), "inventory_2", say("Explore a recorded run")),
        page("machine", say("This machine"), "memory", say("This machine")),
    ],
    position="top",
)
chosen.run()
choose_language()
st.set_page_config(page_icon="⏱️")  # last: Streamlit reads its list of all emoji first, which the heading need not await
