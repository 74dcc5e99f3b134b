"""What only the accelerator itself can settle: does waiting wait, do clocks agree, are known wrong results right here?

For owners of a machine that the makers have never had: one command runs every check, says what it found in a sentence,
and writes one file to send. A check that can't be made says why, and costs the others nothing.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from bench.machine.environment import capture_environment
from bench.measure.clock import time_block
from bench.measure.disturbance import slowdown_beside_a_page
from bench.measure.doubtful_results import DOUBTFUL, off_by
from bench.measure.gate import Gate
from bench.records.reason import DeviceRefused, Quantity, Reason, because, reason_of

if TYPE_CHECKING:
    from bench.machine.devices import Device
    from bench.measure.doubtful_results import Recipe
    from bench.measure.job import Control
    from bench.records.device import DeviceInfo
    from bench.stats.estimate import Estimate
from bench.records.checkup import Checkup, Verdict

PRODUCT, CALLS = 1024, 20  # of the matrices timed here
AGREE, IDLE_S, THREADS_S = 0.1, 1.5, 60.0
DISTURBS = 0.05  # more than this of a call's time is a page that disturbs
TELLS = 0.2  # an interval that reaches further says nothing: a page that does not wait costs this much and more
TOLERANCE = 2e-2  # of the largest value: a wrong result is far off, TF32 is not
TWO_THREADS = """
import sys, threading, torch
def work():
    a = torch.rand(256, 256, device=sys.argv[1])
    for _ in range(200):
        a = (a @ a).softmax(1)
    a.cpu()
both = [threading.Thread(target=work) for _ in range(2)]
[one.start() for one in both], [one.join() for one in both]
"""


def check_up(
    device: Device, gaps: Mapping[str, Reason], begins: Callable[[Reason], None] = lambda name: None
) -> list[Verdict]:
    """Every check on one accelerator, most of a minute; ``begins`` hears of each before it is made.

    ``gaps`` are number formats that it lacks, with reasons.
    """
    from bench.machine.devices import DEVICE_ERRORS

    checks: dict[Reason, Callable[[Device], tuple[bool | None, Reason]]] = {
        because("waiting"): _waiting,
        because("events"): _events,
        because("memory"): _memory,
        because("idle_penalty"): _idle,
        **{
            because("check_of_result", name=because(kind)): partial(_result, make=make)
            for kind, make in DOUBTFUL.items()
        },
        because("two_threads"): _two_threads,
        because("page"): _page,
    }
    missing = tuple(because("format_missing", dtype=name, reason=why) for name, why in gaps.items())
    formats = because("several", parts=missing) if missing else because("all_formats_work")
    found = [Verdict(device.name, because("number_formats"), not set(gaps) - {"float64"}, formats)]
    for name, check in checks.items():
        begins(name)
        try:
            found.append(Verdict(device.name, name, *check(device)))
        except DEVICE_ERRORS as error:
            found.append(Verdict(device.name, name, None, reason_of(error)))
    return found


def check_every(devices: Iterable[DeviceInfo], begins: Callable[[Reason], None]) -> Checkup:
    """Every check on every accelerator among these usable devices; ``begins`` hears of each before it is made."""
    from bench.machine.devices import Device

    devices = tuple(devices)
    found: list[Verdict] = []
    for info in devices:
        if info.name != "cpu":
            found += check_up(Device(info.name), dict(info.gaps), partial(_on, info.label, begins))
    if found:
        _on("CPU", begins, because("page"))
        found.append(Verdict("cpu", because("page"), *_page(Device("cpu"))))  # it shares its cores with the page
    return Checkup(capture_environment({info.name: info.hardware for info in devices}), tuple(found))


def _on(label: str, begins: Callable[[Reason], None], name: Reason) -> None:
    begins(because("check_on", label=label, name=name))


def check_here(control: Control) -> None:
    """A job: what ``check_every`` finds, published as ``findings``."""

    def begins(stage: Reason) -> None:
        control.check()
        control.publish(stage=stage)

    with control.timed():
        checkup = check_every(control.devices.values(), begins)
    control.publish(findings=(checkup,))


def _step(device: Device, n: int = PRODUCT) -> Callable[[], object]:
    import torch

    a = torch.rand(n, n, device=device.torch)
    return lambda: a @ a


def _waiting(device: Device) -> tuple[bool, Reason]:
    """Once waited for, nothing is left to wait for; and what was queued takes longer than queueing it."""
    step, sync = _step(device), device.synchronize
    time_block(step, sync, CALLS)
    block = time_block(step, sync, CALLS)
    rest = time_block(lambda: None, sync).seconds
    text = because(
        "check_waited",
        queued=Quantity(block.dispatch_per_step, "s"),
        done=Quantity(block.per_step, "s"),
        rest=Quantity(rest, "s"),
    )
    return rest < AGREE * block.seconds, text


def _events(device: Device) -> tuple[bool, Reason]:
    step = _step(device)
    time_block(step, device.synchronize, CALLS)
    wall = min(time_block(step, device.synchronize, CALLS).per_step for _ in range(3))
    readings = [device.seconds_by_events(step, CALLS) for _ in range(3)]
    told = [seconds for seconds in readings if seconds is not None]
    if len(told) < len(readings):
        raise DeviceRefused("no_events")
    own = min(told)
    text = because("check_events", own=Quantity(own, "s"), wall=Quantity(wall, "s"))
    return abs(own / wall - 1) < AGREE, text


def _memory(device: Device) -> tuple[bool, Reason]:
    """A tensor of 64 MB shows in the allocator, and is gone with it."""
    import torch

    module = device.module
    read = getattr(module, "current_allocated_memory", None) or getattr(module, "memory_allocated", None)
    if read is None:
        raise DeviceRefused("no_allocation_figure")
    wanted, before = 2**26, read()
    tensor = torch.ones(wanted // 4, device=device.torch)
    device.synchronize()
    grown = read() - before
    del tensor
    left = read() - before
    good = abs(grown - wanted) < AGREE * wanted and left < AGREE * wanted
    return good, because(
        "check_memory", wanted=Quantity(wanted, "B"), grown=Quantity(grown, "B"), left=Quantity(max(left, 0), "B")
    )


def _idle(device: Device) -> tuple[bool, Reason]:
    """What rounds wake a device for; never a fault."""
    step, sync = _step(device, 256), device.synchronize
    busy = min(time_block(step, sync, CALLS).per_step for _ in range(5))
    threading.Event().wait(IDLE_S)
    rested = time_block(step, sync, 1).per_step
    factor = Quantity(rested / busy, "")
    return True, because("check_idle", rest=f"{IDLE_S:g}", factor=factor)


def _result(device: Device, make: Recipe) -> tuple[bool, Reason]:
    """The same work on the CPU in float64 and on the device, from the same numbers."""
    error = off_by(make, device.torch)
    return error < TOLERANCE, because("check_result", part=Quantity(error, "%"))


def _page(device: Device) -> tuple[bool | None, Reason]:
    """Bad or good only where the interval says so: a machine busy with something else is no fault of the page's.

    It ends early only for good: asked after every round, another program's work would be found bad too often.
    """

    def good(slowdown: Estimate) -> bool:
        return slowdown.high < 1 + TELLS

    slowdown = slowdown_beside_a_page(device, Gate(), _step(device, 256), good)
    text = because("check_page", times=slowdown)
    if good(slowdown):
        return True, text
    if slowdown.low > 1 + DISTURBS:
        return False, text
    return None, because("too_uncertain", text=text)


def _two_threads(device: Device) -> tuple[bool, Reason]:
    """Two threads at once have crashed a process; so in a process of its own."""
    command = [sys.executable, "-c", TWO_THREADS, device.name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=THREADS_S)
    except subprocess.TimeoutExpired:
        return False, because("two_threads_hang", limit=round(THREADS_S))
    said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
    if done.returncode:
        return False, because("two_threads_crash", code=done.returncode, said=said)
    return True, because("two_threads_work")
