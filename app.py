"""PyTorch on CPU and Apple MPS, side by side. Run with: streamlit run app.py"""

import streamlit as st

from bench.text.language import translate
from bench.ui.parts.entry import page
from bench.ui.parts.language import choose_language, hear_language

st.set_page_config(page_title="CPU or GPU?", layout="wide")
hear_language()
chosen = st.navigation(
    [
        page(
            "operations",
            translate("Operations"),
            "calculate",
            translate("CPU or GPU, and from which size?"),
            default=True,
        ),
        page("training", translate("Training"), "school", translate("Training on CPU or GPU?")),
        page("article", translate("The article"), "article", translate("The article, replayed")),
        page("history", translate("History"), "history", translate("History")),
        page("compare", translate("Compare"), "compare_arrows", translate("Compare")),
        page("recorded", translate("Recorded runs"), "inventory_2", translate("Explore a recorded run")),
        page("machine", translate("This machine"), "memory", translate("This machine")),
    ],
    position="top",
)
chosen.run()
choose_language()
st.set_page_config(page_icon="⏱️")  # last: Streamlit reads its list of all emoji first, which the heading need not await
