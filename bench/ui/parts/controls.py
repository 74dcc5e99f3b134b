"""Choices that several pages share, and how what can't be planned is said where it was chosen."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Literal, TypedDict, TypeVar

import streamlit as st

from bench.measure.job import Snapshot
from bench.measure.sizes import parse_threads
from bench.records.device import DeviceInfo
from bench.records.formats import CONTIGUOUS, FLOAT32, LAYOUTS, OFF_ON, WIDTHS, spoken
from bench.records.refusal import PlanError
from bench.text.language import translate
from bench.text.tell import tell
from bench.ui.parts.plain import plain

T = TypeVar("T")
USUAL = [FLOAT32]


class Remembered(TypedDict):
    """How a control is kept."""

    persist_state: Literal["session"]
    bind: Literal["query-params"]


class Grid(TypedDict, total=False):
    """The fields of ``VariantGrid``; those left out are as usual."""

    dtypes: tuple[str, ...]
    threads: tuple[int, ...]
    layouts: tuple[str, ...]
    compiled: tuple[bool, ...]


# Survives other pages; a link restores it
REMEMBERED: Remembered = {"persist_state": "session", "bind": "query-params"}


def planned(make: Callable[[], T]) -> T | None:
    """What ``make`` makes; its complaint is shown here, and None returned."""
    try:
        return make()
    except PlanError as error:
        st.error(plain(tell(error.reason)))
        return None


def rates(snapshot: Snapshot) -> Mapping[str, DeviceInfo]:
    """The usable devices by name, for planning."""
    return {device.name: device for device in snapshot.usable}


def choose_devices(snapshot: Snapshot) -> tuple[str, ...] | None:
    """Pills for the devices that are here; the others with their reasons."""
    if not snapshot.devices:
        st.caption(translate("Devices: looking …"))
        return None
    usable = {device.name: device for device in snapshot.usable}
    chosen = st.pills(
        translate("Devices"),
        list(usable),
        selection_mode="multi",
        default=list(usable),
        key="devices",
        format_func=lambda name: usable[name].label,
        help="\n\n".join(f"**{device.label}**: {device.hardware}" for device in usable.values()),
        **REMEMBERED,
    )
    absent = [device for device in snapshot.devices if not device.usable]
    if absent:
        reasons = "\n\n".join(f"**{device.label}**: {plain(tell(device.reason))}" for device in absent)
        st.caption(translate("Not here: {labels}", labels=", ".join(device.label for device in absent)), help=reasons)
    if not chosen:
        st.error(translate("Choose at least one device."))
        return None
    return tuple(name for name in usable if name in chosen)  # the CPU first, whatever was clicked first


def choose_variants(snapshot: Snapshot, images: bool) -> Grid | None:
    """What most people leave alone, the fields of ``VariantGrid``; None while they are wrong.

    ``images``: is there anything whose layout in memory matters?
    """
    with st.expander(translate("More"), icon=":material/tune:"):
        dtypes = _choose_formats(snapshot)
        text = _choose_threads()
        compiled = st.pills(
            "torch.compile",
            [False, True],
            selection_mode="multi",
            default=[False],
            key="compiled",
            format_func=lambda on: translate(OFF_ON[on]),
            help=translate(
                "On: compiled at the first call, which takes seconds to minutes, is shown apart and needs a C++ "
                "compiler on the CPU. Answers are checked as always."
            ),
            **REMEMBERED,
        )
        layouts = _choose_layouts() if images else []
        threads = planned(lambda: parse_threads(text))
    if threads is None:
        return None
    return {
        "dtypes": tuple(dtypes or USUAL),
        "threads": threads,
        "layouts": tuple(layouts or [CONTIGUOUS]),
        "compiled": tuple(compiled or [False]),
    }


def _choose_formats(snapshot: Snapshot) -> list[str]:
    return st.pills(
        translate("Number formats"),
        list(WIDTHS),
        selection_mode="multi",
        default=USUAL,
        key="dtypes",
        format_func=spoken,
        help=translate(
            "Each becomes a line of its own. Autocast keeps numbers in float32 and computes products in the "
            "shorter format. What a device can't do is a row with its reason."
        )
        + " "
        + _gaps(snapshot),
        **REMEMBERED,
    )


def _gaps(snapshot: Snapshot) -> str:
    """Why a format is missing on a device."""
    told = [
        translate("{dtype} on {label}: {reason}", dtype=dtype, label=device.label, reason=tell(reason))
        for device in snapshot.usable
        for dtype, reason in device.gaps
    ]
    return plain(" ".join(f"{line.rstrip('.')}." for line in told))


def _choose_threads() -> str:
    """As typed."""
    cores = os.cpu_count() or 1
    return st.text_input(
        translate("CPU threads"),
        "",
        key="threads",
        placeholder=translate("PyTorch's own choice"),
        help=translate(
            "Numbers such as 1, {some}, {cores}: each becomes a line of its own. This machine has {cores} "
            "logical cores. Accelerators are not affected.",
            some=max(2, cores // 2),
            cores=cores,
        ),
        **REMEMBERED,
    )


def _choose_layouts() -> list[str]:
    return st.pills(
        translate("Order of an image's numbers in memory"),
        list(LAYOUTS),
        selection_mode="multi",
        default=[CONTIGUOUS],
        key="layouts",
        format_func=spoken,
        help=translate("Some convolutions are faster with the channels of a point beside each other."),
        **REMEMBERED,
    )
