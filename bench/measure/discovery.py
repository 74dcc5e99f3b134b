"""Which devices are here: each is looked for, tried with a real product, and its rates timed roughly, for planning.

Imports torch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch

from bench.machine.availability import why_missing
from bench.machine.devices import DEVICE_ERRORS, Device
from bench.measure.clock import time_block
from bench.records.device import DeviceInfo
from bench.records.environment import LABELS, label_of
from bench.records.formats import FORMATS
from bench.records.reason import Quantity, Reason, because, reason_of

COPY_S, LARGEST_COPY = 2e-3, 256 * 2**20  # a copy that lasts so long tells a bandwidth; bytes at most


def find_devices() -> tuple[DeviceInfo, ...]:
    """Every kind of device, the CPU first, each usable or with the reason why not."""
    return tuple(probe(name) for name in LABELS)


def probe(name: str) -> DeviceInfo:
    """Look for a device, and try a real product on it."""
    info = DeviceInfo(name, LABELS[name])
    if missing := why_missing(name):
        return replace(info, reason=missing)
    try:
        return _try(info)
    except DEVICE_ERRORS as error:
        return replace(info, reason=because("first_product_failed", label=info.label, error=reason_of(error)))


def _try(info: DeviceInfo) -> DeviceInfo:
    device = Device(info.name)
    a = torch.rand(512, 512, generator=torch.Generator().manual_seed(0))
    b = a.to(device.torch)
    wrong = torch.max(torch.abs((b @ b).cpu().double() - a.double() @ a.double())).item()
    if not wrong < 0.5:  # of values near 128; TF32 is off by at most about 0.1
        return replace(info, reason=because("wrong_first_product", label=info.label, wrong=Quantity(wrong, "")))
    small = b[:8, :8].contiguous()
    product = min(time_block(lambda: b @ b, device.synchronize, 2).per_step for _ in range(3))
    call = min(time_block(lambda: small + small, device.synchronize, 20).per_step for _ in range(3))
    hardware, gaps = device.hardware(), _gaps(b[:64, :64])
    return replace(
        info,
        label=label_of(info.name, hardware),
        hardware=hardware,
        usable=True,
        memory_bytes=device.memory_bytes(),
        shares_memory=info.name == "mps",
        flops_per_s=2 * 512**3 / product,
        bytes_per_s=_copy_rate(device),
        call_s=call,
        dtypes=tuple(name for name in FORMATS if name not in gaps),
        gaps=tuple(gaps.items()),
    )


def _copy_rate(device: Device) -> float:
    """Bytes a second, read and written, of a copy that lasts long enough to count; a short one tells of launching."""
    size = 16 * 2**20
    while True:
        source = torch.ones(size // 4, device=device.torch)
        target = source.clone()  # written once before it counts: fresh memory is slow
        copy = partial(target.copy_, source)
        seconds = min(time_block(copy, device.synchronize, 2).per_step for _ in range(3))
        if seconds >= COPY_S or size >= LARGEST_COPY:
            return 2 * size / seconds
        size *= 4


def _gaps(a: torch.Tensor) -> dict[str, Reason]:
    """Number formats that the device refuses, or gets wrong, with what it says."""
    found: dict[str, Reason] = {}
    exact = a.cpu().double() @ a.cpu().double()
    for name in FORMATS:
        try:
            b = a.to(getattr(torch, name))
            wrong = ((b @ b).cpu().double() - exact).abs().max().item() / exact.abs().max().item()
            if not wrong < 0.05:
                found[name] = because("dtype_is_off", part=Quantity(wrong, "%"))
        except DEVICE_ERRORS as error:
            found[name] = reason_of(error)
    return found
