"""Inference of one variant: a pass over the training images, and single images, each waited for."""

from __future__ import annotations

from functools import partial

from bench import stats
from bench.measure import clock
from bench.measure.preparation import PHASE_STEPS, WARM_UPS
from bench.measure.training_outcomes import record
from bench.measure.training_setup import Setup, VariantState, parts
from bench.measure.verification.steps import check_answers
from bench.records.measurement import Learning
from bench.records.reason import because

SINGLES_S, SINGLES_BLOCKS = 1.0, 20  # how long single images are tried, and in how many blocks


def infer(setup: Setup, state: VariantState) -> None:
    """Inference over the training images, timed; then its answers are checked."""
    plan, trainer = setup.plan, state.trainer
    (training, case, *_), batches = setup.cases(state.variant), setup.order(0)
    spent = sum(state.epochs_s)
    samples: list[float] = []
    seconds, seen = 0.0, 0
    trainer.wake(batches[0])
    trainer.net.eval()
    for part in parts(batches, 2 * state.steps):
        block, images = setup.timed_block(partial(trainer.infer_all, part), trainer.device, part)
        samples.append(block / images * setup.batch)
        seconds, seen = seconds + block, seen + images
        part_done = 0.9 + 0.08 * seen / plan.images
        setup.progress.tell(training, because("stage_inference"), part_done, spent + seconds, tuple(samples), case)
    learning = Learning(plan.images, setup.images.label, (seconds,), state.infer_phases)
    check = check_answers(setup.network, trainer, batches[0])
    record(
        setup,
        case,
        state,
        state.infer_first_call_s,
        2 * state.steps,
        samples,
        [len(samples)],
        learning,
        check,
        state.infer_memory,
    )


def infer_singles(setup: Setup, state: VariantState) -> None:
    """One image after the other, each waited for: the latency."""
    trainer, sync = state.trainer, state.trainer.device.synchronize
    training, _, case = setup.cases(state.variant)
    image = setup.order(0)[0][:1]
    trainer.net.eval()
    setup.progress.tell(training, because("stage_single"), 0.98, sum(state.epochs_s), at=case)

    def one() -> None:
        trainer.infer(image)
        sync()

    samples: list[float] = []
    spent = 0.0
    with setup.control.timed():
        first = clock.time_block(one, sync)
        warm = min(clock.time_block(one, sync).seconds for _ in range(WARM_UPS))
        phases = trainer.phases(trainer.infer, image, PHASE_STEPS)
    calls = max(1, int(SINGLES_S / SINGLES_BLOCKS / warm))
    while len(samples) < stats.FEWEST or (spent < SINGLES_S and len(samples) < SINGLES_BLOCKS):
        with setup.control.timed():
            block = clock.time_block(one, sync, calls)
        samples.append(block.per_step)
        spent += block.seconds
    memory = setup.memory(state.variant, partial(trainer.infer, image))
    learning = Learning(calls * len(samples), setup.images.label, (spent,), phases)
    check = check_answers(setup.network, trainer, image)
    record(setup, case, state, first.seconds, calls, samples, [len(samples)], learning, check, memory)
