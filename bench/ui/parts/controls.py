"""Choices in, a plan out. What can't be planned is said in one sentence where it was chosen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from bench.measure.job import Snapshot
from bench.measure.plans import MOST_EPOCHS, SweepPlan, TrainingPlan
from bench.measure.sizes import LARGEST_SIZE, MOST_SIZES, SMALLEST_SIZE, parse_batches, parse_threads, spaced_sizes
from bench.records.budget import EFFORTS
from bench.records.formats import CONTIGUOUS, FLOAT32, LAYOUTS, OFF_ON, WIDTHS, spoken
from bench.records.refusal import PlanError
from bench.text.language import retold, translatable, translate
from bench.text.units import count
from bench.ui.parts.plain import plain
from bench.workloads.article import ARTICLE_SIZES
from bench.workloads.datasets import FASHION, SYNTHETIC
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS

SPACINGS = ("geometric", "even")
ARTICLE, RANGE = "article", "range"
FOLDER = "folder"
DATA = {FASHION: "Fashion-MNIST", FOLDER: translatable("My own files"), SYNTHETIC: translatable("Synthetic")}
STOPS = tuple(n for k in range(4, 15) for n in (2**k, 3 * 2 ** (k - 1)) if n <= LARGEST_SIZE)  # of the slider
REMEMBERED = {"persist_state": "session", "bind": "query-params"}  # survives other pages; a link restores it


def choose_sweep(snapshot: Snapshot) -> SweepPlan | None:
    """The sidebar of the Operations page, in the order of thought: what, sizes, where, effort."""
    operation = st.selectbox(
        translate("What"),
        list(OPERATIONS),
        format_func=lambda name: translate(OPERATIONS[name].title),
        key="op",
        help=translate("The operation to time. One call is one run of it on numbers that already lie on the device."),
        **REMEMBERED,
    )
    st.caption(translate("One call computes {formula}.", formula=translate(OPERATIONS[operation].formula)))
    sizes = _choose_sizes(OPERATIONS[operation].axis)
    devices = _choose_devices(snapshot)
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
    grid = _choose_more(snapshot, OPERATIONS[operation].images)
    if sizes is None or devices is None or grid is None:
        return None
    return planned(lambda: SweepPlan(operation, sizes, devices, EFFORTS[effort], **grid))


def choose_training(snapshot: Snapshot, article: bool = False) -> TrainingPlan | None:
    """The sidebar of the Training page: model, data, epochs, batch, images, devices; for the article no more."""
    networks = st.pills(
        translate("Models"),
        list(NETWORKS),
        selection_mode="multi",
        default=["mlp", "convnet"],
        key="models",
        format_func=lambda name: NETWORKS[name].title,
        help=translate(
            "The article's two: an MLP of 671 754 weights and a ConvNet of 421 642. The others are larger, or go "
            "through an image row by row."
        ),
        **REMEMBERED,
    )
    data = st.selectbox(
        translate("Images"),
        list(DATA),
        format_func=lambda data: translate(DATA[data]),
        key="data",
        help=translate(
            "Fashion-MNIST as in the article; a folder with the four IDX files of any set of the same shape; "
            "or a synthetic stand-in, for machines without either."
        ),
        **REMEMBERED,
    )
    source = _choose_folder() if data == FOLDER else data
    epochs = st.number_input(
        translate("Epochs"),
        value=1,
        step=1,
        key="epochs",
        help=translate("1 to {most}.", most=MOST_EPOCHS),
        **REMEMBERED,
    )
    text = st.text_input(
        translate("Batch size"),
        "128",
        key="batch",
        **REMEMBERED,
        help=translate(
            "Images a step. Several, such as 32, 128, are measured one after the other. Inference is measured at "
            "the same, and one image at a time."
        ),
    )
    batches = planned(lambda: parse_batches(text))
    images = st.number_input(
        translate("Training images"),
        value=60_000,
        step=1000,
        key="images",
        help=translate("The first so many of the set."),
        **REMEMBERED,
    )
    numbers_place = st.container()
    devices = _choose_devices(snapshot)
    grid = {} if article else _choose_more(snapshot, any(NETWORKS[name].images for name in networks))
    settings = {"epochs": epochs, "batches": batches, "images": images, "data": source}
    if grid is None or None in settings.values():
        return None
    with numbers_place:
        plan = planned(
            lambda: TrainingPlan(tuple(networks), devices or ("cpu",), one_by_one=not article, **settings, **grid)
        )
    return plan if devices else None


def _choose_more(snapshot: Snapshot, images: bool) -> dict[str, tuple] | None:
    """What most people leave alone, the fields of ``VariantGrid``; None while they are wrong."""
    cores = os.cpu_count() or 1
    usual = [FLOAT32]
    with st.expander(translate("More"), icon=":material/tune:"):
        dtypes = st.pills(
            translate("Number formats"),
            list(WIDTHS),
            selection_mode="multi",
            default=usual,
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
        text = st.text_input(
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
        layouts = [CONTIGUOUS]
        if images:
            layouts = st.pills(
                translate("Order of an image's numbers in memory"),
                list(LAYOUTS),
                selection_mode="multi",
                default=layouts,
                key="layouts",
                format_func=spoken,
                help=translate("Some convolutions are faster with the channels of a point beside each other."),
                **REMEMBERED,
            )
        threads = planned(lambda: parse_threads(text))
        if threads is None:
            return None
        return {
            "dtypes": tuple(dtypes or usual),
            "threads": threads,
            "layouts": tuple(layouts or [CONTIGUOUS]),
            "compiled": tuple(compiled or [False]),
        }


def _gaps(snapshot: Snapshot) -> str:
    """Why a format is missing on a device."""
    told = [
        translate("{dtype} on {label}: {reason}", dtype=dtype, label=device.label, reason=retold(reason))
        for device in snapshot.usable
        for dtype, reason in device.gaps
    ]
    return plain(" ".join(f"{line.rstrip('.')}." for line in told))


def _choose_sizes(axis: str) -> tuple[int, ...] | None:
    preset = st.segmented_control(
        translate("Sizes {axis}", axis=axis),
        [ARTICLE, RANGE],
        default=ARTICLE,
        required=True,
        key="sizes",
        format_func={ARTICLE: translate("The article's nine"), RANGE: translate("My own")}.get,
        **REMEMBERED,
    )
    if preset == ARTICLE:
        st.caption(", ".join(map(count, ARTICLE_SIZES)))
        return ARTICLE_SIZES
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


def _choose_devices(snapshot: Snapshot) -> tuple[str, ...] | None:
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
        reasons = "\n\n".join(f"**{device.label}**: {retold(device.reason)}" for device in absent)
        st.caption(translate("Not here: {labels}", labels=", ".join(device.label for device in absent)), help=reasons)
    if not chosen:
        st.error(translate("Choose at least one device."))
        return None
    return tuple(name for name in usable if name in chosen)  # the CPU first, whatever was clicked first


def _choose_folder() -> str | None:
    text = st.text_input(
        translate("Folder of IDX files"),
        key="folder",
        persist_state="session",
        placeholder="~/data/mnist",
        help=translate(
            "With train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
            "t10k-labels-idx1-ubyte, each as it is or as .gz."
        ),
    )
    if not text.strip():
        st.info(translate("Type the folder that holds the four files."))
        return None
    folder = Path(text.strip()).expanduser()
    if not folder.is_dir():
        st.error(translate("There is no folder {folder}; check the spelling.", folder=folder))
        return None
    return str(folder)


def planned(make):
    """What ``make`` makes; its complaint is shown here, and None returned."""
    try:
        return make()
    except PlanError as error:
        st.error(str(error))
        return None


def rates(snapshot: Snapshot) -> Mapping[str, object]:
    """The usable devices by name, for planning."""
    return {device.name: device for device in snapshot.usable}
