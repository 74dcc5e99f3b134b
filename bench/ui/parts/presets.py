"""Common questions, each as the choices that answer it. Plain data: a page fills its controls with them and starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psutil

from bench.machine.apple import this_mac
from bench.records.formats import CONTIGUOUS, FLOAT32

OPERATIONS_PAGE, TRAINING_PAGE = "operations", "training"
USUAL = {"dtypes": [FLOAT32], "threads": "", "compiled": [False], "layouts": [CONTIGUOUS]}


@dataclass(frozen=True)
class Preset:
    """``choices`` are values of a page's controls by key; ``alone`` if the CPU is enough to answer it."""

    name: str
    question: str
    page: str
    choices: Callable[[], Mapping[str, object]]
    alone: bool = False


def _threads() -> dict[str, object]:
    """One, the performance cores (physical ones where there is a single kind), and all."""
    total = os.cpu_count() or 1
    fast = this_mac().performance_cores if sys.platform == "darwin" else psutil.cpu_count(logical=False)
    numbers = sorted({1, fast or max(1, total // 2), total})
    return {
        "op": "matmul",
        "sizes": "range",
        "range": (128, 2048),
        "count": 5,
        "devices": ["cpu"],
        "threads": ", ".join(map(str, numbers)),
    }


PRESETS = (
    Preset("article", "What did the article measure?", OPERATIONS_PAGE, lambda: {"op": "matvec", "sizes": "article"}),
    Preset(
        "small",
        "Is my GPU worth it for small models?",
        TRAINING_PAGE,
        lambda: {
            "models": ["mlp", "convnet", "lstm"],
            "data": "synthetic",
            "batch": "16, 128",
            "images": 6400,
            "epochs": 1,
        },
    ),
    Preset(
        "dtype",
        "Which number format?",
        OPERATIONS_PAGE,
        lambda: {
            "op": "matmul",
            "sizes": "range",
            "range": (128, 1024),
            "count": 4,
            "dtypes": ["float32", "float16", "bfloat16", "autocast-bfloat16"],
        },
        alone=True,
    ),
    Preset("threads", "How many CPU threads?", OPERATIONS_PAGE, _threads, alone=True),
    Preset(
        "transformer",
        "Transformer inference: one at a time, or many?",
        TRAINING_PAGE,
        lambda: {
            "models": ["vit", "gpt"],
            "data": "synthetic",
            "batch": "32",
            "images": 3200,
            "epochs": 1,
            "dtypes": ["float32", "autocast-bfloat16"],
        },
    ),
)


def choices_of(preset: Preset) -> dict[str, object]:
    """All of the preset's controls, the usual ones where it says nothing."""
    return USUAL | dict(preset.choices())
