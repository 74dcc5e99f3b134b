"""Runs that come with the program: what it shows can be looked at without an accelerator."""

from pathlib import Path

from bench.records.run import Run
from bench.storage.reading import from_json

FOLDER = Path(__file__).parent / "recorded"
TITLES = {  # file to what it shows
    "h200-matvec": "Matrix × vector, CPU against an NVIDIA H200",
    "h200-matmul-formats": "Matrix × matrix in float32 and bfloat16, CPU against an NVIDIA H200",
    "h200-training-mnist": "Training both networks on MNIST, CPU against an NVIDIA H200",
    "h200-article-replayed": "The article replayed on a host with 16 cores and an NVIDIA H200",
    "h200-sustained": "Two minutes of matrix × matrix on an NVIDIA H200",
    "h200-against-itself": "An NVIDIA H200 against itself",
}


def load_recorded(name: str) -> Run:
    """One of TITLES. OSError if the file was removed, FileError if it was changed."""
    return from_json((FOLDER / f"{name}.json").read_bytes())
