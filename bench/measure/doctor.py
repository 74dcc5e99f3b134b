"""What is here, what is missing, and the command or setting that mends it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from bench.machine.apple import Mac, this_mac
from bench.machine.environment import chip_name, is_translated, power_state
from bench.machine.home import bench_home
from bench.records.device import DeviceInfo
from bench.records.reason import Figure, Quantity, Reason, because, quoted

PACKAGES = ("torch", "torchvision", "streamlit", "plotly", "pandas", "numpy", "scipy")
LEAST_TORCH = (2, 9)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: Reason
    good: bool
    text: Reason  # what is so
    mend: Reason | None = None  # what to do
    needed: bool = True  # without it, nothing can be measured


def examine(devices: Iterable[DeviceInfo] | None = None) -> tuple[Finding, ...]:
    """Look at everything. ``devices`` are those the runner found; without them, look now (imports torch)."""
    if devices is None:
        from bench.measure.discovery import find_devices

        devices = find_devices()
    return (_python(), _machine(), *_packages(), *map(_device, devices), _fallback(), _folder(), _images())


def _python() -> Finding:
    text = because(
        "python_here",
        version=platform.python_version(),
        machine=platform.machine(),
        platform=platform.platform(terse=True),
        chip=chip_name(),
    )
    name = quoted("python")
    if is_translated():
        return Finding(name, False, because("python_under_rosetta", text=text), because("install_arm64_python"))
    if sys.platform == "darwin" and platform.machine() != "arm64":
        return Finding(name, False, text, because("intel_mac"))
    return Finding(name, True, text)


def _machine() -> Finding:
    """Cores, memory, power: what a result depends on and nobody thinks of."""
    import psutil

    mac = this_mac() if sys.platform == "darwin" else Mac()
    power, low_power = power_state()
    parts: list[Figure] = [because("cores", cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1)]
    if mac.performance_cores:
        fast, saving = mac.performance_cores, mac.efficiency_cores
        parts = [because("fast_and_saving_cores", fast=fast, saving=saving or 0)]
    if mac.gpu_cores:
        parts.append(because("gpu_cores", cores=mac.gpu_cores))
    parts += [
        Quantity(psutil.virtual_memory().total, "B"),
        because("power_source", power=because("power", state=power)),
        because("low_power_mode", mode=because("power", state=low_power)),
    ]
    text = because("parts", parts=tuple(filter(None, [mac.model, *parts])))
    if low_power == "on":
        return Finding(because("machine"), False, text, because("switch_low_power_off"), needed=False)
    return Finding(because("machine"), True, text, needed=False)


def _packages() -> list[Finding]:
    return [_package(name) for name in PACKAGES]


def _package(name: str) -> Finding:
    needed = name not in ("streamlit", "plotly")  # the command line works without the page
    try:
        found = version(name)
    except PackageNotFoundError:
        mend = because("run_command", command=f"pip install {name}")
        return Finding(quoted(name), False, because("not_installed"), mend, needed)
    if name == "torch" and tuple(int(part) for part in found.split(".")[:2]) < LEAST_TORCH:
        mend = because("run_command", command="pip install --upgrade torch torchvision")
        return Finding(quoted(name), False, quoted(found), mend, needed)
    return Finding(quoted(name), True, quoted(found), needed=needed)


def _device(info: DeviceInfo) -> Finding:
    needed = info.name == "cpu"
    if not info.usable:
        return Finding(quoted(info.label), False, info.reason or because("nothing"), needed=needed)
    gaps = [because("not_dtype", dtype=name, reason=why) for name, why in info.gaps]
    formats: list[Figure] = [", ".join(info.dtypes), *gaps] if info.dtypes else []
    return Finding(quoted(info.label), True, because("parts", parts=(info.hardware, *formats)), needed=needed)


def _fallback() -> Finding:
    if os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") not in ("", "0"):
        mend = because("unset_fallback")
        return Finding(because("mps_fallback"), False, because("fallback_is_set"), mend, needed=False)
    return Finding(because("mps_fallback"), True, because("fallback_off"), needed=False)


def _folder() -> Finding:
    home = bench_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        mend = because("set_home")
        text = because("home_unwritable", home=str(home), error=error.strerror or str(error))
        return Finding(because("folder"), False, text, mend, needed=False)
    return Finding(because("folder"), True, quoted(str(home)), needed=False)


def _images() -> Finding:
    from bench.workloads.datasets import available

    if available():
        return Finding(quoted("Fashion-MNIST"), True, because("complete"), needed=False)
    mend = because("download_images")
    return Finding(quoted("Fashion-MNIST"), False, because("not_downloaded"), mend, needed=False)
