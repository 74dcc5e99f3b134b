"""Energy by the counters of the hardware, without special rights, where a package that reads them is installed.

An estimate: counters are refreshed every 20 to 100 ms, include what the machine does beside, and know only a part of
it: on Apple Silicon CPU, GPU and memory of the chip (zeus-apple-silicon), on NVIDIA the board of the GPU (nvidia-ml-py,
GPUs from Volta on). Both packages are optional; without them the figure is absent, with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from bench.records.environment import pretends
from bench.records.reason import Reason, because, reason_of

SHORTEST_S = 2.0  # of a stretch: a shorter one is a matter of the counter's ticks
APPLE, NVIDIA = because("energy_of_apple_chip"), because("energy_of_gpu_board")


@dataclass(frozen=True)
class Meter:
    """``read()`` gives joules since some moment; None where ``reason`` says why not."""

    read: Callable[[], float] | None
    reason: Reason | None = None
    covers: Reason | None = None


def meter(device: str, hardware: str) -> Meter:
    """The counter that tells what work on this device takes."""
    if pretends(hardware):
        return Meter(None, because("emulated_energy"))
    if sys.platform == "darwin" and device in ("cpu", "mps"):
        return _apple()
    if device == "cuda":
        return _nvidia()
    return Meter(None, because("no_energy_counter"))


def _apple() -> Meter:
    try:
        from zeus_apple_silicon import AppleEnergyMonitor
    except ImportError:
        return Meter(None, because("install_to_see", package="zeus-apple-silicon"))
    monitor, total = AppleEnergyMonitor(), [0.0]
    monitor.begin_window("bench")

    def read() -> float:
        metrics = monitor.end_window("bench")
        monitor.begin_window("bench")
        parts = (metrics.cpu_total_mj, metrics.gpu_mj, metrics.dram_mj)
        total[0] += sum(part for part in parts if part is not None) / 1e3
        return total[0]

    return Meter(read, covers=APPLE)


def _nvidia() -> Meter:
    import torch

    try:
        import pynvml
    except ImportError:
        return Meter(None, because("install_to_see", package="nvidia-ml-py"))
    try:
        pynvml.nvmlInit()
        uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except pynvml.NVMLError as error:
        return Meter(None, because("driver_does_not_tell", error=reason_of(error)))
    return Meter(lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3, covers=NVIDIA)
