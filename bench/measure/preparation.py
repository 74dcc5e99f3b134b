"""Before a training is timed: first calls, warm-up, the phases of a step and the check, all on copies."""

from __future__ import annotations

from functools import partial

from bench.measure import clock
from bench.measure.compiling import surely_compiled
from bench.measure.training_setup import Setup, VariantState
from bench.measure.verification.steps import check_step
from bench.records.case import Variant
from bench.records.reason import because

BLOCK_S = 0.3  # a block of batches lasts about so long: often enough for a live curve and for Stop
MOST_STEPS = 200  # a block: the loss is read once a block, not every batch
FEWEST_BLOCKS = 12  # an epoch, if it has so many batches: fewer would tell little of how sure the median is
SLOW_STEP_S = 1.0  # from there a block is a single step, so that Stop is heard
WARM_UPS, PHASE_STEPS = 5, 12


def prepare(setup: Setup, variant: Variant) -> VariantState:
    """Warm up and take the phases apart on a copy; then make the network that will be trained."""
    from bench.machine.devices import fallback_flags

    device = setup.devices[variant.device]
    sync = device.synchronize
    stage = because("stage_compiling_step") if variant.compiled else because("stage_first_step")
    setup.progress.tell(setup.cases(variant)[0], stage, 0.0, 0.0)
    copy = setup.trainer(variant)
    batch, *_, last = (*setup.order(0),) * 2
    with setup.control.timed():
        with surely_compiled(variant.compiled), fallback_flags() as flags:
            first = clock.time_block(lambda: copy.step(batch), sync)
        if len(last) < len(batch):  # its shape needs a compilation of its own
            copy.step(last)
        warm_ups = 1 if first.seconds > WARM_UPS * SLOW_STEP_S and not variant.compiled else WARM_UPS
        step_s = min(clock.time_block(lambda: copy.step(batch), sync, 2).per_step for _ in range(warm_ups))
        repeats = PHASE_STEPS if step_s < SLOW_STEP_S else 1
        phases = copy.phases(copy.step, batch, repeats)
    memory = setup.memory(variant, partial(copy.step, batch))
    with setup.control.timed():
        copy.net.eval()
        infer_first = clock.time_block(lambda: copy.infer(batch), sync)
        if len(last) < len(batch):
            copy.infer(last)
        infer_phases = copy.phases(copy.infer, batch, repeats)
    infer_memory = setup.memory(variant, partial(copy.infer, batch))
    wanted = max(1, min(MOST_STEPS, round(BLOCK_S / step_s), setup.per_epoch // FEWEST_BLOCKS))
    setup.control.check()
    check = check_step(setup.network, setup.trainer(variant), batch, fresh=True)
    return VariantState(
        variant,
        setup.trainer(variant),
        check,
        first.seconds,
        phases,
        memory,
        infer_first.seconds,
        infer_phases,
        infer_memory,
        wanted if step_s < SLOW_STEP_S else 1,
        flags,
    )
