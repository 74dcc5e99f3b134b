"""A small set of images in IDX files, which a network can learn within seconds."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

CLASSES, SIDE = 10, 28


def write_learnable(folder: Path, train: int = 2000, test: int = 500, seed: int = 0) -> Path:
    """The four files, packed: each image is its class's pattern under noise, so that chance is 10 %."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 2, (CLASSES, SIDE, SIDE)) * 120
    folder.mkdir(parents=True, exist_ok=True)
    for part, how_many in (("train", train), ("t10k", test)):
        classes = random.integers(0, CLASSES, how_many, dtype=np.uint8)
        pixels = (patterns[classes] + random.integers(0, 136, (how_many, SIDE, SIDE))).astype(np.uint8)
        images = struct.pack(">4I", 0x803, how_many, SIDE, SIDE) + pixels.tobytes()
        labels = struct.pack(">2I", 0x801, how_many) + classes.tobytes()
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images, 1))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels, 1))
    return folder
