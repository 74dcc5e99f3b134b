"""Stand-ins that agree on what time it is: no sleeping, exact expectations."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

from bench.records.case import Case
from bench.records.cost import Cost
from bench.records.environment import Environment
from bench.records.measurement import CONVERGED, RIGHT, Check, Failure, Learning, Measurement
from bench.records.reason import quoted
from bench.records.run import Run

ENVIRONMENT = Environment(
    captured_at="2026-01-01T00:00:00+00:00",
    platform="macOS-15.1",
    chip="Apple M1 Pro",
    machine="arm64",
    translated=False,
    cores=10,
    memory_bytes=16 * 2**30,
    python="3.12.1",
    torch="2.9.0",
    blas="accelerate",
    float32_matmul="highest",
    threads=8,
    power="mains",
    load=1.5,
    devices={"cpu": "Apple M1 Pro", "mps": "Apple M1 Pro"},
    variables={},
)


class Bench:
    """A clock wound by hand, a device and a step: work is queued by the step and done only at synchronize().

    ``step_s`` may be a number or a function of how many steps have been done.
    """

    def __init__(self, step_s, sync_s=0.0, launch_s=0.0, first_s=0.0):
        self.now, self.queue, self.done = 0.0, 0, 0
        self.step_s, self.sync_s, self.launch_s, self.first_s = step_s, sync_s, launch_s, first_s

    def clock(self):
        return self.now

    def step(self):
        self.queue += 1
        self.now += self.launch_s

    def synchronize(self):
        for _ in range(self.queue):
            self.now += self.step_s(self.done) if callable(self.step_s) else self.step_s
            self.now += self.first_s if self.done == 0 else 0.0
            self.done += 1
        self.now += self.sync_s
        self.queue = 0


class Calm:
    """A gate that nobody draws behind."""

    def timed(self):
        return nullcontext()

    def others_s(self):
        return 0.0

    def preempted(self):
        return 0

    def disturbed(self, start, end):
        return False


class Watcher:
    """What a job needs of the runner, keeping all that was published."""

    def __init__(self, devices, gate=None):
        self.devices, self.gate, self.stop = devices, gate or Calm(), threading.Event()
        self.published, self.lost = [], {}

    def check(self):
        from bench.measure.job import Stopped

        if self.stop.is_set():
            raise Stopped

    def timed(self):
        self.check()
        return self.gate.timed()

    def publish(self, **changes):
        self.published.append(changes)

    def lose(self, name, reason):
        self.lost[name] = reason

    @property
    def run(self):
        return next(p["run"] for p in reversed(self.published) if "run" in p)


def rates(name="cpu", label="CPU", memory=8e9, flops=1e11, bandwidth=1e10, call=2e-6, shares=False, hardware="fake"):
    """A device as planning sees it."""
    return SimpleNamespace(
        name=name,
        label=label,
        memory_bytes=memory,
        flops_per_s=flops,
        bytes_per_s=bandwidth,
        call_s=call,
        shares_memory=shares,
        usable=True,
        hardware=hardware,
        reason=None,
    )


def measurement(device: str, size: int, seconds: float, workload: str = "matvec", rounds: int = 8, spread=0.01):
    """Ten samples a round, around ``seconds``, scattered evenly by ±``spread``."""
    samples = tuple(seconds * (1 + spread * (k % 10 - 4.5) / 4.5) for k in range(10 * rounds))
    return Measurement(
        Case(workload, size, device),
        Cost(2 * size * size, 4 * size * size),
        CONVERGED,
        None,
        0.1,
        8,
        samples,
        rounds=(10,) * rounds,
        dispatch_s=tuple(s / 10 for s in samples),
    )


def trained(device: str, batch_s: float, epoch_s: float, phases_s=()) -> Measurement:
    """A ConvNet's training of one epoch, batches of 128."""
    learning = Learning(60_000, "x", (epoch_s,), dict(phases_s))
    return replace(measurement(device, 128, batch_s, "convnet/train"), learning=learning)


def sweep(points, failures=(), environment=ENVIRONMENT) -> Run:
    """A run over {size: {device: seconds}}."""
    outcomes = [measurement(d, n, s) for n, row in points.items() for d, s in row.items()]
    outcomes += [Failure(Case("matvec", n, d), quoted(why)) for n, d, why in failures]
    sizes = sorted({o.case.size for o in outcomes})
    return Run("sweep", environment, {"operation": "matvec", "sizes": sizes}, tuple(outcomes))


class Machine:
    """Several devices on one clock wound by hand; ``install`` puts them in the place of the real ones.

    ``speeds`` maps a device's name to the seconds of a step: a function of the size and of the time.
    """

    def __init__(self, speeds, sync_s=1e-6, launch_s=1e-7):
        self.now, self.speeds, self.sync_s, self.launch_s = 0.0, speeds, sync_s, launch_s
        self.size, self.released = 0, 0
        self.broken = {}  # devices that stopped working, and what they say
        self.visits = []  # names of the devices in the order in which they were asked to step

    def install(self, monkeypatch):
        import bench.machine.devices
        from bench.measure import clock, size_group, sweep
        from bench.workloads import contract, operations

        def build(draw, size):
            self.size = size
            return (lambda device: device.step()), (_Anywhere(),)

        def cost(m, width):
            return Cost(2 * m * m, width * m * m)

        truth = contract.Truth(lambda lines, *inputs: None)  # nobody asks it: the verifier is lenient
        fake = contract.Operation("fake", "Fake", "nothing", build, truth, cost)
        monkeypatch.setitem(operations.OPERATIONS, "fake", fake)
        monkeypatch.setattr(bench.machine.devices, "Device", lambda name: _Fake(self, name))
        monkeypatch.setattr(size_group, "peak_memory", lambda device, step: None)  # there are no tensors
        monkeypatch.setattr(clock, "now", lambda: self.now)
        monkeypatch.setattr(size_group, "Judge", lambda *arguments: None)
        monkeypatch.setattr(size_group, "Verifier", _Lenient)
        monkeypatch.setattr(sweep, "capture_environment", lambda hardware: ENVIRONMENT)
        return {name: rates(name, name.upper()) for name in self.speeds}


class _Anywhere:
    def is_floating_point(self):
        return False

    def to(self, device):
        return device


class _Lenient:
    """There is no answer to judge."""

    check = Check(RIGHT, 0.0, 1e-6)

    def __init__(self, *arguments):
        pass

    def first(self):
        pass

    def timed(self, answer, measured_s):
        pass

    def last(self, step_s, measured_s):
        pass


class _Fake:
    def __init__(self, machine, name):
        self.machine, self.name, self.queue, self.torch = machine, name, 0, self

    def step(self):
        if self.machine.visits[-1:] != [self.name]:
            self.machine.visits.append(self.name)
        self.queue += 1
        self.machine.now += self.machine.launch_s
        return SimpleNamespace(shape=(), dtype=None, device=None)

    def synchronize(self):
        for _ in range(self.queue):
            self.machine.now += self.machine.speeds[self.name](self.machine.size, self.machine.now)
        self.queue = 0
        self.machine.now += self.machine.sync_s

    def seconds_by_events(self, step, calls):
        return None

    def why_broken(self):
        return quoted(self.machine.broken[self.name]) if self.name in self.machine.broken else None

    def release_memory(self):
        self.machine.released += 1
