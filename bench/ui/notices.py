"""What a reader must know before believing: emulated devices, no accelerator, failed loading."""

from __future__ import annotations

import streamlit as st

from bench.results import REFERENCE, Run
from bench.runner import Snapshot, State


def about_devices(snapshot: Snapshot) -> None:
    """Why there is nothing to compare, if there is nothing."""
    if snapshot.state is State.BROKEN and not snapshot.devices:
        st.error(snapshot.error, icon=":material/error:")
        st.code(snapshot.details, language=None)
        return
    if snapshot.devices and {device.name for device in snapshot.usable} == {REFERENCE}:
        mps = next((device.reason for device in snapshot.devices if device.name == "mps"), "")
        st.info(
            f"No accelerator here, so only the CPU can be measured. {mps} The page **This machine** tells more.",
            icon=":material/memory:",
        )


def about_run(run: Run) -> None:
    """A label on every result that a device only pretended to give."""
    if run.emulated:
        st.warning(
            "**Emulated device.** Its times are settings of a test tool, never measurements of real hardware.",
            icon=":material/science:",
        )
