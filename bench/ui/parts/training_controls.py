"""The choices of the Training page, and with fewer of them the article's: a training's plan out."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import streamlit as st

from bench.measure.job import Snapshot
from bench.measure.plans import MOST_EPOCHS, TrainingPlan
from bench.measure.sizes import parse_batches
from bench.text.language import translatable, translate
from bench.ui.parts.controls import REMEMBERED, Grid, choose_devices, choose_variants, planned
from bench.ui.parts.plain import plain
from bench.workloads.datasets import FASHION, SYNTHETIC
from bench.workloads.networks import NETWORKS

FOLDER = "folder"
DATA = {FASHION: "Fashion-MNIST", FOLDER: translatable("My own files"), SYNTHETIC: translatable("Synthetic")}


def choose_training(snapshot: Snapshot, article: bool = False) -> TrainingPlan | None:
    """The sidebar: model, data, epochs, batch, images, devices; for the article no more. None while it is no plan."""
    networks = _choose_networks()
    data = _choose_data()
    epochs = st.number_input(
        translate("Epochs"),
        value=1,
        step=1,
        key="epochs",
        help=translate("1 to {most}.", most=MOST_EPOCHS),
        **REMEMBERED,
    )
    batches = _choose_batches()
    images = st.number_input(
        translate("Training images"),
        value=60_000,
        step=1000,
        key="images",
        help=translate("The first so many of the set."),
        **REMEMBERED,
    )
    complaints = st.container()  # about these numbers, above the devices
    devices = choose_devices(snapshot)
    grid: Grid | None = {} if article else choose_variants(snapshot, any(NETWORKS[name].images for name in networks))
    if grid is None or epochs is None or batches is None or images is None or data is None:
        return None
    with complaints:
        plan = planned(
            lambda: TrainingPlan(
                tuple(networks),
                devices or ("cpu",),
                epochs,
                batches,
                images,
                data,
                one_by_one=not article,
                **grid,
            )
        )
    return plan if devices else None


def _choose_networks() -> list[str]:
    return st.pills(
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


def _choose_data() -> str | None:
    """A key of DATA, or a folder; None until that is there."""
    choice = st.selectbox(
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
    data = cast(str, choice)  # Streamlit's types, read for Python 3.10, call it None
    return _choose_folder() if data == FOLDER else data


def _choose_batches() -> tuple[int, ...] | None:
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
    return planned(lambda: parse_batches(text))


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
        st.error(translate("There is no folder {folder}; check the spelling.", folder=plain(folder)))
        return None
    return str(folder)
