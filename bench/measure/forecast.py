"""Before a run: about how long it takes, how much memory it needs, and what would not fit.

The rates come from one small product and one copy per device at start-up. They are for planning
only and never shown as results; during a run the time left is corrected by what has been seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bench.measure.plans import SweepPlan, TrainingPlan
from bench.records.budget import Budget
from bench.records.case import Variant
from bench.records.cost import Cost
from bench.records.formats import FLOAT32, WIDTHS, stored
from bench.records.reason import Quantity, Reason, because
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS

SHARE = 0.8  # of the free memory that a run may plan to use
DRAW_BYTES_PER_S = 0.8e9  # making random numbers and copying them, one core
TRAINING_EFFICIENCY = 0.25  # of a single product's rate, typical of small layers
STEPS_WARMED_UP = 40  # before training, see network_group.py
COMPILING_S = 20.0  # a network, by torch.compile; a tenth for an operation at one size
HOST_STEP_S = 4e-4  # a training step's few dozen calls from Python, apart from the device's work


class Rates(Protocol):
    """What planning needs to know of a device; DeviceInfo has it."""

    @property
    def label(self) -> str: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def shares_memory(self) -> bool: ...
    @property
    def flops_per_s(self) -> float: ...
    @property
    def bytes_per_s(self) -> float: ...
    @property
    def call_s(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan will take."""

    seconds: float
    memory_bytes: int  # the most that is held at once, all devices together
    left_out: Mapping[int, Reason]  # size to the reason why it would not fit


def sweep_forecast(plan: SweepPlan, devices: Mapping[str, Rates]) -> Forecast:
    """Time and memory of a sweep; sizes that would not fit are left out of both."""
    operation = OPERATIONS[plan.operation]
    width, places = max(WIDTHS[dtype] for dtype in plan.dtypes), _places(plan)

    def need(n: int) -> int:
        return operation.bytes_needed(n, width)

    left_out = {n: reason for n in plan.sizes if (reason := too_large(need(n), places, devices))}
    sizes = [n for n in plan.sizes if n not in left_out]
    needs = [need(n) * copies(places, devices) for n in sizes]
    return Forecast(sum(group_seconds(plan, n, devices) for n in sizes), max(needs, default=0), left_out)


def _places(plan: SweepPlan) -> tuple[str, ...]:
    """Where inputs lie beside those on the CPU that were drawn: once for each device and number format."""
    kept = dict.fromkeys((variant.device, stored(variant.dtype)) for variant in plan.variants)
    return tuple(device for device, dtype in kept if (device, dtype) != ("cpu", FLOAT32))


def too_large(need: int, chosen: tuple[str, ...], devices: Mapping[str, Rates]) -> Reason | None:
    """Why ``need`` bytes on each chosen device would not fit; None if they would."""
    host = devices.get("cpu")
    there = need * copies(chosen, devices, "cpu")
    if host and there > SHARE * host.memory_bytes:
        return because("needs_memory", need=Quantity(there, "B"), free=Quantity(host.memory_bytes, "B"))
    for name in chosen:
        device = devices[name]
        if need > SHARE * device.memory_bytes:
            free = Quantity(device.memory_bytes, "B")
            return because("needs_device_memory", need=Quantity(need, "B"), label=device.label, free=free)
    return None


def copies(chosen: tuple[str, ...], devices: Mapping[str, Rates], of: str = "") -> int:
    """How many copies of the inputs there are at once: the CPU's own, and one an accelerator.

    With ``of="cpu"`` only those that lie in the CPU's memory.
    """
    return 1 + sum(name == "cpu" or devices[name].shares_memory or of != "cpu" for name in chosen)


def group_seconds(plan: SweepPlan, n: int, devices: Mapping[str, Rates]) -> float:
    """Seconds for one size on all the plan's devices."""
    operation, budget = OPERATIONS[plan.operation], plan.budget
    drawn = operation.bytes_needed(n, 4) / DRAW_BYTES_PER_S
    steps = [
        step_seconds(operation.cost(n, WIDTHS[variant.dtype]), devices[variant.device]) for variant in plan.variants
    ]
    compiling = sum(variant.compiled for variant in plan.variants) * COMPILING_S / 10  # an operation is quickly done
    return drawn + compiling + sum(_case_seconds(seconds, budget) for seconds in steps)


def step_seconds(cost: Cost, device: Rates) -> float:
    """Seconds a step: the device's call, and the slower of arithmetic and memory."""
    return device.call_s + max(cost.flops / device.flops_per_s, cost.bytes_moved / device.bytes_per_s)


def _case_seconds(step_s: float, budget: Budget) -> float:
    block = max(step_s, budget.min_block_s)
    a_round = max(budget.round_s, block) + (block if block < 0.2 else 0)  # and its re-warm
    rounds = min(1.3 * budget.min_rounds, max(1.0, budget.limit_s / a_round))
    return 0.5 * budget.warmup_s + 3 * block + rounds * a_round


def training_forecast(plan: TrainingPlan, devices: Mapping[str, Rates]) -> Forecast:
    """Time and memory of training and inference; nothing is left out, images are small."""
    seconds = sum(
        training_seconds(plan, name, batch, variant, devices[variant.device])
        for name in plan.networks
        for batch in plan.batches
        for variant in plan.variants_for(name, batch)
    )
    images = 4 * 28 * 28 * (plan.images + 10_000)
    weights = sum(4 * 4 * NETWORKS[name].parameters for name in plan.networks)
    # the ConvNet's, generously; of larger ones a tenth of a number for each operation
    largest = max(60_000, *(NETWORKS[name].forward_flops // 100 for name in plan.networks))
    activations = 4 * largest * max(plan.batches)
    variants = max(len(plan.variants_for(name, batch)) for name in plan.networks for batch in plan.batches)
    return Forecast(1.5 + seconds, images + (weights + activations) * variants, {})


def training_seconds(plan: TrainingPlan, network: str, batch: int, variant: Variant, device: Rates) -> float:
    """Warm-up, epochs, one inference pass and the test of one network at one batch size on one variant."""
    flops, steps = NETWORKS[network].forward_flops * batch, -(-plan.images // batch)
    forward = HOST_STEP_S / 3 + flops / (TRAINING_EFFICIENCY * device.flops_per_s)
    step = HOST_STEP_S + 20 * device.call_s + 3 * forward
    passes = plan.epochs * steps * step + steps * forward
    compiling = COMPILING_S if variant.compiled else 0.0
    singles = len(plan.cases_of(network, batch, variant)) - 2  # a second, where they are measured
    return compiling + singles + passes + STEPS_WARMED_UP * (step + forward) + 10_000 / batch * forward


def omissions(forecast: Forecast) -> list[Reason]:
    """Why sizes are left out, one reason each."""
    return [because("size_left_out", size=n, reason=why) for n, why in forecast.left_out.items()]
