"""Number formats and layouts: what they are called, and how wide they are."""

from __future__ import annotations

FLOAT32, AUTOCAST = "float32", "autocast-"
FORMATS = ("float64", "float32", "float16", "bfloat16")  # by PyTorch's names
# Bytes a number, as it lies in memory. With autocast that is float32, and products are computed in the shorter format.
WIDTHS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "autocast-float16": 4, "autocast-bfloat16": 4}
CONTIGUOUS, CHANNELS_LAST = "contiguous", "channels_last"
LAYOUTS = (CONTIGUOUS, CHANNELS_LAST)  # of images in memory
OFF_ON = ("off", "on")  # of a switch, by its value


def spoken(name: str) -> str:
    """The name of a format or layout, for people: "autocast bfloat16", "channels last"."""
    return name.replace("-", " ").replace("_", " ")


def stored(dtype: str) -> str:
    """The format in which numbers lie in memory: "float32" for "autocast-bfloat16"."""
    return FLOAT32 if dtype.startswith(AUTOCAST) else dtype


def computed(dtype: str) -> str:
    """The format in which products are computed: "bfloat16" for "autocast-bfloat16"."""
    return dtype.removeprefix(AUTOCAST)
