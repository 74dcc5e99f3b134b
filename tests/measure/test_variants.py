"""The ways in which a device computes: each is a variant of its own, does what it says, and is verified."""

import pytest
import torch
from fakes import Watcher
from told import raises

from bench.machine.devices import Device
from bench.machine.memory import TENSORS, peak_memory
from bench.measure.compiling import autocast, compiled, surely_compiled
from bench.measure.discovery import find_devices
from bench.measure.plans import SweepPlan, TrainingPlan
from bench.measure.sweep import measure
from bench.measure.trainer import Trainer, initial_weights, order
from bench.measure.training import train
from bench.records.budget import EFFORTS
from bench.records.case import Case, Variant
from bench.records.formats import CHANNELS_LAST, FORMATS
from bench.records.measurement import RIGHT, Failure, Memory
from bench.records.refusal import PlanError
from bench.text.names import short_name
from bench.text.tell import tell
from bench.workloads.datasets import load
from bench.workloads.networks import NETWORKS

FOUND = {device.name: device for device in find_devices() if device.usable}
QUICK = EFFORTS["quick"]


def trainer(variant, network="mlp", images=64):
    plan = TrainingPlan((network,), ("cpu",), batches=(32,), images=images, data="synthetic")
    net = NETWORKS[network]
    return Trainer(net, Device("cpu"), load("synthetic", images=images), plan, initial_weights(net, 0), variant), plan


def test_every_combination_is_a_variant_and_threads_are_the_cpus_alone():
    plan = SweepPlan(
        "conv2d",
        (64,),
        ("cpu", "mps"),
        dtypes=("float32", "autocast-bfloat16"),
        threads=(1, 2),
        layouts=("contiguous", "channels_last"),
        compiled=(False, True),
    )
    assert len(plan.variants) == len(set(plan.variants)) == 2 * 2 * 2 * (2 + 1)
    assert Variant("cpu", "autocast-bfloat16", 2, "channels_last", True).settings == [
        "autocast bfloat16",
        "2 threads",
        "channels last",
        "compiled",
    ]


def test_what_has_no_images_has_no_layout_to_choose():
    layouts = ("contiguous", "channels_last")
    assert len(SweepPlan("matmul", (64,), ("cpu",), layouts=layouts).variants) == 1
    plan = TrainingPlan(("mlp", "convnet"), ("cpu",), layouts=layouts)
    assert [len(plan.variants_for(name, 128)) for name in plan.networks] == [1, 2]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dtypes": ("int8",)}, "'int8'"),
        ({"dtypes": ()}, "at least one"),
        ({"layouts": ("nhwc",)}, "'nhwc'"),
        ({"threads": (1, 1)}, "once"),
        ({"threads": (-1,)}, "from 0"),
        ({"compiled": ()}, "at least one"),
    ],
)
def test_ways_that_make_no_sense_are_refused(change, says):
    for make in (
        lambda: SweepPlan("matvec", (64,), ("cpu",), **change),
        lambda: TrainingPlan(("mlp",), ("cpu",), **change),
    ):
        with raises(PlanError, match=says):
            make()


def test_a_sweep_measures_and_verifies_every_way():
    watcher = Watcher(FOUND)
    plan = SweepPlan(
        "conv2d",
        (32,),
        ("cpu",),
        QUICK,
        dtypes=("float32", "autocast-bfloat16"),
        threads=(1, 2),
        layouts=("contiguous", "channels_last"),
        compiled=(False,),
    )
    measure(plan, watcher)
    assert [outcome.case for outcome in watcher.run.outcomes] == list(plan.cases)
    assert {m.check.verdict for m in watcher.run.measurements} == {RIGHT}
    assert len(watcher.run.measurements) == 8
    exact = {m.case.dtype: m.check.error for m in watcher.run.measurements}
    assert exact["autocast-bfloat16"] > 100 * exact["float32"], "products were computed in eight bits"


def test_training_measures_every_way_every_batch_size_and_single_images(few_test_images):
    watcher = Watcher(FOUND)
    plan = TrainingPlan(
        ("convnet",),
        ("cpu",),
        batches=(16, 32),
        images=64,
        data="synthetic",
        one_by_one=True,
        dtypes=("float32", "autocast-bfloat16"),
        threads=(2,),
        layouts=("contiguous", "channels_last"),
    )
    train(plan, watcher)
    run = watcher.run
    assert {outcome.case for outcome in run.outcomes} == set(plan.cases)
    assert len(plan.cases) == 4 * (2 + 2) + 4
    assert [failure for failure in run.failures] == []
    assert {m.check.verdict for m in run.measurements} == {RIGHT}, [m.check for m in run.measurements]
    singles = [m for m in run.measurements if m.case.size == 1]
    assert {m.case.workload for m in singles} == {"convnet/infer"}
    assert len(singles) == 4
    assert all(m.cost.items == 1 and len(m.samples_s) >= 6 for m in singles)
    assert all(m.memory.used_bytes > 4e5 for m in run.measurements)
    assert short_name(run, singles[0].case) == "Inference with ConvNet, one image"
    assert short_name(run, Case("convnet/train", 64, "cpu")) == "Training ConvNet, batch 64"


def test_a_trainer_computes_in_its_format_and_layout():
    student, plan = trainer(Variant("cpu", "bfloat16"))
    assert {p.dtype for p in student.net.parameters()} == {torch.bfloat16}
    assert student.step(order(plan, 0)[:32]).dtype == torch.float32, "a loss in eight bits would tell nothing"
    student, plan = trainer(Variant("cpu", layout=CHANNELS_LAST), "convnet")
    weight = student.net[2].weight
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert not weight.is_contiguous()
    student, _ = trainer(Variant("cpu", "autocast-float16"))
    assert {p.dtype for p in student.net.parameters()} == {torch.float32}


def test_float16_with_autocast_scales_its_loss_and_gradients_come_out_right():
    student, plan = trainer(Variant("cpu", "autocast-float16"))
    usual, _ = trainer(Variant("cpu"))
    index = order(plan, 0)[:32]
    assert student._scaler.is_enabled()
    assert not usual._scaler.is_enabled()
    student.step(index), usual.step(index)
    pairs = [(a.grad, b.grad) for a, b in zip(student.net.parameters(), usual.net.parameters(), strict=True)]
    total = sum(right.norm() ** 2 for _, right in pairs) ** 0.5
    assert all((mine - right).norm() < 0.05 * right.norm() + 2e-3 * total for mine, right in pairs)


def test_an_autocast_that_pytorch_lacks_is_an_error_not_float32_in_disguise():
    class Refusing:
        _enabled = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "autocast", lambda *args: Refusing())
        with raises(RuntimeError, match="no autocast to bfloat16 on cpu"):
            autocast("cpu", "autocast-bfloat16")


def test_an_operation_is_compiled_and_right():
    watcher = Watcher(FOUND)
    plan = SweepPlan("softmax", (64,), ("cpu",), QUICK, compiled=(False, True))
    measure(plan, watcher)
    usual, fast = watcher.run.measurements
    assert (usual.case.compiled, fast.case.compiled) == (False, True)
    assert fast.check.verdict == RIGHT
    assert fast.first_call_s > 10 * usual.first_call_s, "the first call compiles, and stands apart"


def test_what_pytorch_leaves_uncompiled_is_no_result():
    """It calls an LSTM as it is, without a word; that must not be shown as compiled."""
    watcher = Watcher(FOUND)
    train(TrainingPlan(("lstm",), ("cpu",), images=128, data="synthetic", compiled=(True,)), watcher)
    assert all(isinstance(outcome, Failure) for outcome in watcher.run.outcomes)
    assert "compiles nothing" in tell(watcher.run.failures[0].error)
    with raises(RuntimeError, match="compiles nothing"), surely_compiled(True):
        torch.ones(2).sum()
    with surely_compiled(True):
        compiled(lambda x: x + 1)(torch.ones(2))


def test_memory_counts_what_is_there_what_comes_and_what_goes():
    a = torch.rand(1000, 1000)

    def work():
        b = a @ a
        c = b + 1
        del b
        return c.mul_(2)

    found = peak_memory(Device("cpu"), work)
    assert found == Memory(3 * 4_000_000, found.pool_bytes, TENSORS)
    assert found.pool_bytes > 50e6, "the whole program"


def test_training_holds_weights_gradients_and_both_moments_at_least():
    student, plan = trainer(Variant("cpu"))
    index = order(plan, 0)[:32]
    student.step(index)
    held = peak_memory(Device("cpu"), lambda: student.step(index)).used_bytes
    assert 4 * 4 * NETWORKS["mlp"].parameters < held < 6 * 4 * NETWORKS["mlp"].parameters
    assert peak_memory(Device("cpu"), lambda: student.infer(index)).used_bytes < held / 2


def test_every_format_is_stored_as_it_says():
    for name in FORMATS:
        student, _ = trainer(Variant("cpu", name))
        assert next(student.net.parameters()).dtype == getattr(torch, name)
