"""PyTorch on CPU and Apple MPS, side by side. Run with: streamlit run app.py"""

import streamlit as st

from bench.ui.notices import about_store
from bench.ui.pages import article, compare, history, machine, operations, recorded, training
from bench.ui.session import drawing

st.set_page_config(page_title="CPU or GPU?", page_icon="⏱️", layout="wide")
page = st.navigation(
    [
        st.Page(operations.show, title="Operations", icon=":material/calculate:", url_path="operations", default=True),
        st.Page(training.show, title="Training", icon=":material/school:", url_path="training"),
        st.Page(article.show, title="The article", icon=":material/article:", url_path="article"),
        st.Page(history.show, title="History", icon=":material/history:", url_path="history"),
        st.Page(compare.show, title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page(recorded.show, title="Recorded runs", icon=":material/inventory_2:", url_path="recorded"),
        st.Page(machine.show, title="This machine", icon=":material/memory:", url_path="machine"),
    ],
    position="top",
)
with drawing():
    about_store()
    page.run()
