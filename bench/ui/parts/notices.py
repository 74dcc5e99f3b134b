"""What a reader must know before believing: emulated devices, no accelerator, failed loading."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from bench.analysis.caveats import caveats
from bench.measure.job import Snapshot, State
from bench.measure.resume import remainder
from bench.records.reason import Reason, Refused
from bench.records.run import REFERENCE, Run
from bench.storage.head import Head
from bench.text.language import translate
from bench.text.names import sized_name
from bench.text.tell import tell
from bench.ui.parts.plain import plain
from bench.ui.parts.session import kept, runner

MOST_HEADLINES = 3


def about_devices(snapshot: Snapshot) -> None:
    """Why there is nothing to compare, if there is nothing."""
    if snapshot.state is State.BROKEN and not snapshot.devices:
        st.error(plain(tell(snapshot.error)), icon=":material/error:")
        st.code(snapshot.details, language=None)
        return
    if snapshot.devices and {device.name for device in snapshot.usable} == {REFERENCE}:
        mps = next((plain(tell(device.reason)) for device in snapshot.devices if device.name == "mps"), "")
        st.info(
            translate(
                "No accelerator here, so only the CPU can be measured. {mps} Its number formats and threads can "
                "be compared all the same, under **More** in the sidebar. The page **This machine** tells more.",
                mps=mps,
            ),
            icon=":material/memory:",
        )


def about_keeping(snapshot: Snapshot) -> None:
    """Why a run is not kept on disk, if it is not."""
    if snapshot.notice:
        st.warning(plain(tell(snapshot.notice)), icon=":material/save:")


def about_store() -> None:
    """What was found when the store of runs was opened: damage, a run that a crash ended, or no store at all."""
    if refused := kept().refused:
        st.warning(
            translate(
                "{why} Runs are kept in memory only: download them before you close the program.",
                why=plain(tell(refused)),
            ),
            icon=":material/save:",
        )
    for notice in kept().notices:
        st.warning(plain(tell(notice)), icon=":material/save:")
    for head in list(kept().crashed):
        _about_crash(head)


def _about_crash(head: Head) -> None:
    """Which case killed the program, what is kept, and the offer to go on without it."""
    at, when = "", head.captured_at[:16].replace("T", " ")
    if head.case:
        at = translate(
            " while {case} on {device} was measured",
            case=sized_name(head.case),
            device=head.case.device.upper(),
        )
    stage = f" ({tell(head.stage)})" if head.stage else ""
    st.warning(
        translate(
            "{end} {outcomes} of {planned} cases of that run ({what}, {when} UTC) are kept.",
            end=plain(translate("The program ended abruptly{at}{stage}.", at=at, stage=stage)),
            outcomes=head.outcomes,
            planned=head.planned,
            what=plain(head.what),
            when=when,
        ),
        icon=":material/crisis_alert:",
    )
    with st.container(horizontal=True):
        st.button(
            translate("Go on without that case"),
            key=f"go on {head.id}",
            icon=":material/resume:",
            on_click=_go_on,
            args=(head,),
            disabled=runner().snapshot.active or not runner().snapshot.devices,
        )
        st.button(
            translate("Leave it"), key=f"leave {head.id}", icon=":material/close:", on_click=_dismiss, args=(head,)
        )


def _go_on(head: Head) -> None:
    store = kept().store
    if store is None:  # then there is no such run either
        return
    try:
        usable = {device.name: device for device in runner().snapshot.usable}
        rest = remainder(store.load(head.id), usable)
        runner().start(rest.job, rest.kind, rest.planned)
        _dismiss(head)
    except Refused as error:
        st.toast(plain(tell(error.reason)), icon=":material/info:")


def _dismiss(head: Head) -> None:
    kept().crashed.remove(head)


def headlines(reasons: Sequence[Reason]) -> None:
    """The verdict in large type; more than a few sentences would shout, and become a list."""
    sentences = [plain(tell(reason)) for reason in reasons]
    if len(sentences) <= MOST_HEADLINES:
        for sentence in sentences:
            st.subheader(sentence, anchor=False)
    else:
        st.markdown("\n".join(f"- **{sentence}**" for sentence in sentences))


def about_run(run: Run) -> None:
    """A label on every result that a device only pretended to give."""
    if run.emulated:
        st.warning(
            translate(
                "**Emulated device.** Its times are settings of a test tool, never measurements of real hardware."
            ),
            icon=":material/science:",
        )


def about_caveats(run: Run) -> None:
    """One line for each reason to be careful with a result."""
    for line in caveats(run):
        st.caption(f":material/warning: {plain(tell(line))}")
