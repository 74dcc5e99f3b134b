"""What a training or an inference amounts to: a measurement, checked."""

from __future__ import annotations

from collections.abc import Sequence

from bench import stats
from bench.measure.sampler import judge_spread
from bench.measure.training_setup import Setup, VariantState
from bench.measure.verification.steps import check_trained
from bench.measure.verification.verdicts import worse
from bench.records.case import Case
from bench.records.cost import Cost
from bench.records.formats import WIDTHS
from bench.records.measurement import NOISY, REDUCED, WRONG, Check, Learning, Measurement, Memory
from bench.records.reason import because


def conclude(setup: Setup, state: VariantState) -> None:
    """The test, untimed; then one more step, checked, which spoils the weights: so it comes last."""
    plan, trainer = setup.plan, state.trainer
    case = setup.cases(state.variant)[0]
    curve = setup.progress.curve(case)
    learning = Learning(
        plan.images,
        setup.images.label,
        tuple(state.epochs_s),
        state.phases,
        tuple(zip(curve.images, curve.losses, strict=True)),
        state.last_loss,
        trainer.accuracy(setup.control.check),
        tuple(state.energy_j),
    )
    trainer.net.train()
    after = check_trained(setup.network, trainer, setup.order(0)[:3])
    record(
        setup,
        case,
        state,
        state.first_call_s,
        state.steps,
        state.samples,
        state.rounds,
        learning,
        worse(state.check, after),
        state.memory,
    )


def record(
    setup: Setup,
    case: Case,
    state: VariantState,
    first_call_s: float,
    calls: int,
    samples: Sequence[float],
    rounds: Sequence[int],
    learning: Learning,
    check: Check,
    memory: Memory | None,
) -> None:
    """The measurement of a case: too few blocks tell nothing, and a wrong answer is struck out."""
    status, reason = judge_spread(samples)
    if len(samples) < stats.FEWEST:
        few = because("few_blocks", n=len(samples))
        status, reason = NOISY, few
    if check.verdict == WRONG:
        status, reason = WRONG, check.reason
    flags = (*state.flags, *([check.reason] if check.verdict == REDUCED and check.reason else []))
    setup.finish(
        Measurement(
            case,
            cost_of(setup, case),
            status,
            reason,
            first_call_s,
            calls,
            tuple(samples),
            tuple(rounds),
            check=check,
            flags=flags,
            learning=learning,
            memory=memory,
        )
    )


def cost_of(setup: Setup, case: Case) -> Cost:
    """Of a batch; backward counts as two forward passes, and reads and writes the weights and Adam's moments."""
    training, batch, width = case.workload.endswith("train"), case.size, WIDTHS[case.dtype]
    weights = setup.network.parameters * (8 if training else 1)
    passes = 3 if training else 1
    return Cost(passes * setup.network.forward_flops * batch, width * (weights + batch * 28 * 28), batch)
