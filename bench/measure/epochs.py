"""An epoch of one variant, timed in blocks of batches."""

from __future__ import annotations

from functools import partial

from bench.machine import energy
from bench.measure.training_setup import Setup, VariantState, parts
from bench.records.reason import because


def train_epoch(setup: Setup, state: VariantState, epoch: int) -> None:
    """One epoch in timed blocks; between two of them losses are read and watchers told."""
    import torch

    plan, trainer, device = setup.plan, state.trainer, state.trainer.device
    case, batches = setup.cases(state.variant)[0], setup.order(epoch)
    before, seconds, seen, losses, blocks = sum(state.epochs_s), 0.0, 0, 0.0, 0
    trainer.wake(batches[0])  # it slept while another one had its turn
    read = setup.meters[state.variant.device].read
    used = read() if read else 0.0
    for part in parts(batches, state.steps):
        segments = [sum(map(len, some)) for some in parts(part, setup.segment)]
        totals = torch.zeros(len(segments), device=device.torch)
        work = partial(trainer.steps, part, totals, setup.segment)
        block, images = setup.timed_block(work, device, part)
        for total, count in zip(totals.tolist(), segments, strict=True):  # read outside the clock, once a block
            seen, losses, seconds = seen + count, losses + total, seconds + block * count / images
            setup.progress.extend(case, epoch * plan.images + seen, total / count, before + seconds)
        blocks += 1
        state.samples.append(block / images * setup.batch)
        part_done = 0.9 * (epoch * plan.images + seen) / (plan.images * plan.epochs)
        stage = because("stage_epoch", epoch=epoch + 1, epochs=plan.epochs)
        setup.progress.tell(case, stage, part_done, before + seconds, tuple(state.samples))
    if read and seconds >= energy.SHORTEST_S:
        state.energy_j.append(read() - used)
    state.rounds.append(blocks)
    state.epochs_s.append(seconds)
    state.last_loss = losses / plan.images
