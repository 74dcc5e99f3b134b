"""TODO."""

from __future__ import annotations

import platform
import sys

import torch

from bench.machine.environment import is_translated
from bench.records.reason import Reason, because


def why_missing(name: str) -> Reason | None:
    """Why a device cannot be used, and what to do; None if it is there."""
    if name == "cpu":
        return None
    if name == "mps":
        return _why_no_mps()
    module = getattr(torch, name, None)
    if module is not None and module.is_available():
        return None
    what = {"cuda": "NVIDIA/ROCm GPU", "xpu": "Intel GPU"}[name]
    return because("no_usable_device", what=what, version=torch.__version__)


def _why_no_mps() -> Reason | None:
    if torch.backends.mps.is_available():
        return None
    if sys.platform != "darwin":
        here = {"linux": "Linux", "win32": "Windows"}.get(sys.platform, sys.platform)
        return because("not_a_mac", system=here)
    if is_translated():
        return because("intel_python_under_rosetta")
    if platform.machine() != "arm64":
        return because("not_apple_silicon")
    if not torch.backends.mps.is_built():
        version = torch.__version__
        return because("built_without_mps", version=version)
    release = platform.mac_ver()[0]
    return because("macos_too_old", version=release)
