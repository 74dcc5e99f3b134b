"""Figures: pure functions from results to Plotly, which know nothing of Streamlit.

``base`` holds what all of them share (colours, axes, provenance); ``sweep_charts``, ``training_charts``, ``article``
and ``comparison`` hold those of each kind of run; ``sample_charts`` looks behind a result at its samples and clocks,
``roofline_chart`` at what held a device up.
"""
