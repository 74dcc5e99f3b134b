"""The choices of the Operations page: in the order of thought, a sweep's plan out."""

from __future__ import annotations

from typing import cast

import streamlit as st

from bench.measure.job import Snapshot
from bench.measure.plans import SweepPlan
from bench.measure.sizes import LARGEST_SIZE, MOST_SIZES, SMALLEST_SIZE, spaced_sizes
from bench.records.budget import EFFORTS
from bench.text.language import translate
from bench.text.units import count
from bench.ui.parts.controls import REMEMBERED, choose_devices, choose_variants, planned
from bench.workloads.article import ARTICLE_SIZES
from bench.workloads.operations import OPERATIONS

SPACINGS = ("geometric", "even")
ARTICLE, RANGE = "article", "range"
STOPS: tuple[int, ...] = tuple(  # of the slider
    n for k in range(4, 15) for n in (2**k, 3 * 2 ** (k - 1)) if n <= LARGEST_SIZE
)


def choose_sweep(snapshot: Snapshot) -> SweepPlan | None:
    """The sidebar of the Operations page, what, sizes, where, effort. None while it is no plan."""
    choice = st.selectbox(
        translate("What"),
        list(OPERATIONS),
        format_func=lambda name: translate(OPERATIONS[name].title),
        key="op",
        help=translate("The operation to time. One call is one run of it on numbers that already lie on the device."),
        **REMEMBERED,
    )
    operation = cast(str, choice)  # Streamlit's types, read for Python 3.10, call it None
    st.caption(translate("One call computes {formula}.", formula=translate(OPERATIONS[operation].formula)))
    sizes = _choose_sizes(OPERATIONS[operation].axis)
    devices = choose_devices(snapshot)
    effort = st.select_slider(
        translate("Effort"),
        list(EFFORTS),
        value="standard",
        format_func=lambda effort: translate(effort).capitalize(),
        key="effort",
        help=translate(
            "How precise each median has to be before the next case: its 95 % interval within 5 % (quick), "
            "2 % (standard) or 1 % (thorough) of it. Cases that don't get there are marked."
        ),
        **REMEMBERED,
    )
    grid = choose_variants(snapshot, OPERATIONS[operation].images)
    if sizes is None or devices is None or grid is None:
        return None
    return planned(lambda: SweepPlan(operation, sizes, devices, EFFORTS[effort], **grid))


def _choose_sizes(axis: str) -> tuple[int, ...] | None:
    names = {ARTICLE: translate("The article's nine"), RANGE: translate("My own")}
    preset = st.segmented_control(
        translate("Sizes {axis}", axis=axis),
        [ARTICLE, RANGE],
        default=ARTICLE,
        required=True,
        key="sizes",
        format_func=lambda preset: names.get(preset, preset),
        **REMEMBERED,
    )
    if preset == ARTICLE:
        st.caption(", ".join(map(count, ARTICLE_SIZES)))
        return ARTICLE_SIZES
    return _choose_range(axis)


def _choose_range(axis: str) -> tuple[int, ...] | None:
    """Sizes of one's own: from, to, how many, and how they are spaced."""
    first, last = st.select_slider(
        translate("From {axis} to {axis}", axis=axis),
        STOPS,
        value=(SMALLEST_SIZE, 4096),
        format_func=count,
        key="range",
        **REMEMBERED,
    )
    how_many = st.number_input(
        translate("How many"),
        value=9,
        step=1,
        key="count",
        help=translate("1 to {most}.", most=MOST_SIZES),
        **REMEMBERED,
    )
    spacing = st.segmented_control(
        translate("Spacing"),
        SPACINGS,
        format_func=translate,
        default="geometric",
        required=True,
        key="spacing",
        help=translate("Geometric: each size the same multiple of the one before. Even: the same distance."),
        **REMEMBERED,
    )
    if how_many is None:
        st.error(translate("How many sizes? Type a whole number."))
        return None
    sizes = planned(lambda: spaced_sizes(first, last, how_many, spacing))
    if sizes:
        st.caption(", ".join(map(count, sizes)))
    return sizes
