"""What the numbers depend on and no result shows: machine, versions, threads, switches."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from bench.machine.apple import Mac, power_now, run_tool, this_mac
from bench.records.environment import UNKNOWN, Environment


def capture_environment(devices: Mapping[str, str]) -> Environment:
    """Ask the machine. Call it in the thread that measures: PyTorch's thread setting belongs to a thread."""
    import psutil
    import torch

    mac = this_mac() if sys.platform == "darwin" else Mac()
    power, low_power = power_state()
    return Environment(
        captured_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        platform=platform.platform(terse=True),
        chip=chip_name(),
        machine=platform.machine(),
        translated=is_translated(),
        cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        python=platform.python_version(),
        torch=torch.__version__,
        blas=_blas(torch.__config__.show()),
        float32_matmul=torch.get_float32_matmul_precision(),
        threads=torch.get_num_threads(),
        power=power,
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        devices=dict(devices),
        variables={name: value for name, value in sorted(os.environ.items()) if _matters(name)},
        model=mac.model,
        performance_cores=mac.performance_cores,
        efficiency_cores=mac.efficiency_cores,
        gpu_cores=mac.gpu_cores,
        low_power=low_power,
    )


def chip_name() -> str:
    """ "Apple M1 Pro", "AMD EPYC 7763 64-Core Processor"; "unknown" where the system does not tell."""
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string") or UNKNOWN
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip() or UNKNOWN
    return platform.processor() or UNKNOWN


def is_translated() -> bool:
    """True for an Intel Python that Rosetta runs on Apple Silicon: it can't reach the GPU and is slow."""
    return sys.platform == "darwin" and _sysctl("sysctl.proc_translated") == "1"


def _sysctl(name: str) -> str:
    return run_tool("/usr/sbin/sysctl", "-n", name).strip()


def power_state() -> tuple[str, str]:
    """Source ("mains", "battery" or "unknown") and low-power mode ("on", "off" or "unknown"), now."""
    if sys.platform == "darwin":
        return power_now()
    import psutil

    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is None:
        return UNKNOWN, UNKNOWN
    return ("mains" if battery.power_plugged else "battery"), UNKNOWN


def _matters(variable: str) -> bool:
    if variable.endswith("_DIR"):  # paths stay at home
        return False
    return variable.startswith(("PYTORCH_", "EMULATED_MPS_")) or variable.endswith("_NUM_THREADS")


def _blas(config: str) -> str:
    """The BLAS library from PyTorch's build description, e.g. "accelerate", "mkl", "open"."""
    found = re.search(r"\bBLAS_INFO=(\w+)", config)
    return found[1] if found else UNKNOWN
