"""TODO."""

from __future__ import annotations

import platform
import sys

import torch

from bench.machine.environment import is_translated
from bench.text.language import noted


def why_missing(name: str) -> str:
    """Why a device cannot be used, and what to do; empty if it is there."""
    if name == "cpu":
        return ""
    if name == "mps":
        return _why_no_mps()
    module = getattr(torch, name, None)
    if module is not None and module.is_available():
        return ""
    what = {"cuda": "NVIDIA/ROCm GPU", "xpu": "Intel GPU"}[name]
    return noted("No {what} that this PyTorch ({version}) can use.", what=what, version=torch.__version__)


def _why_no_mps() -> str:
    if torch.backends.mps.is_available():
        return ""
    if sys.platform != "darwin":
        here = {"linux": "Linux", "win32": "Windows"}.get(sys.platform, sys.platform)
        return noted("MPS needs a Mac with Apple Silicon; this is {system}.", system=here)
    if is_translated():
        return noted(
            "This Python is an Intel build run by Rosetta and cannot reach the GPU: install an arm64 Python "
            "and make the virtual environment again with it."
        )
    if platform.machine() != "arm64":
        return noted("MPS needs Apple Silicon; PyTorch no longer supports Intel Macs.")
    if not torch.backends.mps.is_built():
        version = torch.__version__
        return noted("This PyTorch ({version}) was built without MPS: install it again with pip.", version=version)
    release = platform.mac_ver()[0]
    return noted("MPS needs macOS 14 or newer for this PyTorch; this is macOS {version}.", version=release)
