"""Why a kind of device cannot be used here, and what to do about it."""

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
        system = {"linux": "Linux", "win32": "Windows"}.get(sys.platform, sys.platform)
        return because("not_a_mac", system=system)
    if is_translated():
        return because("intel_python_under_rosetta")
    if platform.machine() != "arm64":
        return because("not_apple_silicon")
    if not torch.backends.mps.is_built():
        return because("built_without_mps", version=torch.__version__)
    return because("macos_too_old", version=platform.mac_ver()[0])
