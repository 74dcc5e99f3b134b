"""Wrong answers are found, right ones are not called wrong."""

import math
import random
from dataclasses import replace

import pytest
import torch

from bench.machine.devices import Device
from bench.measure import verify
from bench.measure.compiling import autocast
from bench.measure.plans import TrainingPlan
from bench.measure.trainer import Trainer, initial_weights, order
from bench.measure.verify import Judge, Outline, pick, worse
from bench.measure.verify_networks import check_answers, check_step, check_trained
from bench.records.case import Variant
from bench.records.formats import WIDTHS, stored
from bench.records.measurement import REDUCED, RIGHT, UNVERIFIED, WRONG, Check
from bench.text.tell import tell
from bench.workloads.datasets import load
from bench.workloads.inputs import draw_from
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS

QUICK = [name for name in NETWORKS if name != "resnet18"]  # seconds a step, and nothing that the others lack
SIZES = (16, 100, 257)


def judge(name, size, spoil=lambda out: out, seed=0, function=None):
    """The check of an operation whose every answer goes through ``spoil``."""
    op = OPERATIONS[name]
    right, inputs = op.build(draw_from(seed), size)
    return checked(Judge(op, size, right, inputs), lambda: spoil((function or right)(*inputs)))


def checked(a_judge, step):
    return a_judge.check(step, Outline.of(step()))


def test_two_hundred_right_answers_are_right():
    rng = random.Random(1)
    for seed in range(200):
        name = rng.choice(list(OPERATIONS))
        size = rng.choice((16, 33, 100, 257) + (1500,) * (name == "matvec"))
        found = judge(name, size, seed=seed)
        assert found.verdict == RIGHT and found.reason is None, (name, size, seed, found)
        assert found.error < found.limit / 4, "with room to spare"


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("size", SIZES)
def test_a_value_off_by_a_hundredth_is_wrong(name, size):
    found = judge(name, size, lambda out: out * 1.01)
    assert found.verdict == WRONG and found.error == pytest.approx(0.01, rel=0.02)
    assert tell(found.reason) == "Its result differs from the reference by 1.0 %."


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", WIDTHS)
def test_every_number_format_is_right_on_the_cpu_and_a_value_off_by_six_hundredths_wrong(name, dtype):
    op = OPERATIONS[name]
    function, inputs = op.build(draw_from(0), 100)
    inputs = [t.to(getattr(torch, stored(dtype))) if t.is_floating_point() else t for t in inputs]
    a_judge = Judge(op, 100, function, inputs, dtype)
    with autocast("cpu", dtype):
        found = checked(a_judge, lambda: function(*inputs))
        assert found.verdict == RIGHT, found
        assert checked(a_judge, lambda: function(*inputs) * 1.06).verdict == WRONG


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_band_of_nan_inside_is_wrong_even_where_nothing_is_compared(name):
    size = 300
    hidden = next(i for i in range(size) if i not in pick(size))

    def spoil(out):
        out = out.clone()
        out.select(OPERATIONS[name].picked[0], hidden).fill_(math.nan)
        return out

    found = judge(name, size, spoil)
    assert found.verdict == WRONG and "not finite" in tell(found.reason) and found.error is None


@pytest.mark.parametrize("size", SIZES)
def test_a_part_of_the_output_that_is_never_written_is_wrong(size):
    """The kernel leaves the last tenth as it found it: full of the NaN that were put there before."""

    def forgetful(b, a):
        out = torch.empty(b.shape[0])
        written = b.shape[0] - max(1, b.shape[0] // 10)
        torch.mv(b[:written], a, out=out[:written])
        return out

    assert judge("matvec", size, function=forgetful).verdict == WRONG


def test_the_first_and_the_last_row_are_always_compared():
    for length in (1, 2, 24, 25, 3000, 16384):
        assert pick(length)[0] == 0 and pick(length)[-1] == length - 1
        assert pick(length) == sorted(set(pick(length))) == pick(length)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_products_of_rounded_inputs_are_not_taken_for_right(name, dtype):
    op = OPERATIONS[name]
    function, inputs = op.build(draw_from(0), 64)
    if op.cost(64, 4).flops == 0 or name in ("sort", "topk"):
        return  # nothing is computed: what is rounded before stays as it is
    rough = function(*(tensor.to(dtype) for tensor in inputs)).float()
    assert checked(Judge(op, 64, function, inputs), lambda: rough).verdict in (REDUCED, WRONG)


def test_reduced_precision_is_named_and_not_called_wrong():
    """Inputs rounded to the 10 bits that TF32 keeps."""
    op = OPERATIONS["matmul"]
    function, inputs = op.build(draw_from(0), 300)
    tf32 = [(tensor.view(torch.int32) & ~0x1FFF).view(torch.float32) for tensor in inputs]
    found = checked(Judge(op, 300, function, inputs), lambda: function(*tf32))
    assert found.verdict == REDUCED and "reduced precision" in tell(found.reason)


def test_what_takes_too_long_to_check_is_unverified():
    op = replace(OPERATIONS["matmul"], picked=(), part=None)
    function, inputs = op.build(draw_from(0), 1200)
    assert checked(Judge(op, 1200, function, inputs), lambda: function(*inputs)).verdict == UNVERIFIED


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_check_costs_one_step_of_the_device(name):
    """Two of at least twelve that are timed: what a check may take of a case's time."""
    op, steps = OPERATIONS[name], []
    function, inputs = op.build(draw_from(0), 100)

    def step():
        steps.append(1)
        return function(*inputs)

    assert Judge(op, 100, function, inputs).check(step, Outline.of(function(*inputs))).verdict == RIGHT
    assert len(steps) == 1


def test_the_worse_of_two_checks_counts():
    right, reduced, wrong = Check(RIGHT, 1e-7, 1e-6), Check(REDUCED, 1e-4, 1e-6), Check(WRONG, None, 1e-6)
    assert worse(right, wrong) is wrong and worse(wrong, reduced) is wrong and worse(reduced, right) is reduced


# ------------------------------------------------------------ networks


@pytest.fixture(scope="module")
def images():
    return load("synthetic", images=400)


def trainer(images, network, seed=0, variant=Variant("cpu")):  # noqa: B008
    net = NETWORKS[network]
    plan = TrainingPlan((network,), ("cpu",), images=400, data="synthetic")
    return Trainer(net, Device("cpu"), images, plan, initial_weights(net, seed), variant), order(plan, seed)[:64]


@pytest.mark.parametrize(
    ("network", "seed"), [(name, seed) for name in NETWORKS for seed in range(1 if name == "resnet18" else 2)]
)
def test_a_right_step_is_right_at_the_start_and_later(images, network, seed):
    student, index = trainer(images, network, seed)
    first = check_step(NETWORKS[network], student, index, fresh=True)
    assert first.verdict == RIGHT, first
    for _ in range(5):
        student.step(index)
    later = check_step(NETWORKS[network], student, index, fresh=False)
    assert later.verdict == RIGHT, later
    student.net.eval()
    assert check_answers(NETWORKS[network], student, index).verdict == RIGHT


def test_a_network_trained_until_its_gradients_are_tiny_is_still_right(images):
    """Near its ReLUs' kinks float32 itself is per mille off: that is not the device's fault."""
    student, index = trainer(images, "mlp")
    for _ in range(400):
        student.step(index)
    assert check_step(NETWORKS["mlp"], student, index, fresh=False).verdict == RIGHT
    next(student.net.parameters()).register_hook(lambda grad: grad * 1.01)
    assert check_step(NETWORKS["mlp"], student, index, fresh=False).verdict == WRONG


@pytest.mark.parametrize("network", QUICK)
@pytest.mark.parametrize("fresh", [True, False])
def test_scaled_gradients_are_wrong_though_the_loss_is_right(images, network, fresh):
    student, index = trainer(images, network)
    next(student.net.parameters()).register_hook(lambda grad: grad * 1.01)
    found = check_step(NETWORKS[network], student, index, fresh)
    assert found.verdict == WRONG and "gradient" in tell(found.reason)


@pytest.mark.parametrize("network", QUICK)
@pytest.mark.parametrize("fresh", [True, False])
def test_frozen_weights_are_wrong(images, network, fresh):
    """The optimiser does nothing to one tensor, as it did to weights that were not contiguous."""
    student, index = trainer(images, network)
    student._optimizer.param_groups[0]["params"].pop(0)
    found = check_step(NETWORKS[network], student, index, fresh)
    assert found.verdict == WRONG and "weights did not move" in tell(found.reason)


def test_tf32_in_convolutions_is_named_where_pytorch_uses_it_and_wrong_elsewhere(images, monkeypatch):
    """Its gradients scatter by some per cent around the right ones, but are not longer or shorter."""

    def scatter(grad):
        noise = torch.randn(grad.shape, generator=torch.Generator().manual_seed(1))
        return grad + 0.02 * grad.norm() * noise / noise.norm()

    for name, verdict in (("cuda", REDUCED), ("cpu", WRONG)):
        student, index = trainer(images, "convnet")
        next(student.net.parameters()).register_hook(scatter)
        monkeypatch.setattr(student.device, "name", name)
        assert check_step(NETWORKS["convnet"], student, index, fresh=True).verdict == verdict


def test_what_is_wrong_only_with_tf32_is_reduced_and_what_is_wrong_without_it_too_is_wrong(images, monkeypatch):
    for only_with_tf32, verdict in ((True, REDUCED), (False, WRONG)):
        student, index = trainer(images, "convnet")

        def spoil(grad, only=only_with_tf32):
            noise = torch.randn(grad.shape, generator=torch.Generator().manual_seed(1))
            return (
                grad
                if only and not torch.backends.cudnn.allow_tf32
                else grad + 0.2 * grad.norm() * noise / noise.norm()
            )

        next(student.net.parameters()).register_hook(spoil)
        monkeypatch.setattr(student.device, "name", "cuda")
        assert torch.backends.cudnn.allow_tf32
        found = check_step(NETWORKS["convnet"], student, index, fresh=True)
        assert found.verdict == verdict and torch.backends.cudnn.allow_tf32, found
        assert verdict == WRONG or "TF32" in tell(found.reason)


def test_one_image_at_a_kink_is_no_wrong_device(images, monkeypatch):
    """Two of three batches decide: a wrong factor shows in each, a kink in one."""
    student, _ = trainer(images, "mlp")
    batches = order(TrainingPlan(("mlp",), ("cpu",), images=400, data="synthetic"), 0).split(128)[:3]
    factors = iter([1.01, 1.0, 1.0])
    hook = next(student.net.parameters()).register_hook(lambda grad: grad * next(factors))
    assert check_trained(NETWORKS["mlp"], student, batches).verdict == RIGHT
    hook.remove()
    next(student.net.parameters()).register_hook(lambda grad: grad * 1.01)
    assert check_trained(NETWORKS["mlp"], student, batches).verdict == WRONG


@pytest.mark.parametrize("network", QUICK)
def test_a_wrong_loss_is_wrong(images, network, monkeypatch):
    student, index = trainer(images, network)
    step = student.step
    monkeypatch.setattr(student, "step", lambda index: step(index) * 1.01)
    assert "loss" in tell(check_step(NETWORKS[network], student, index, fresh=True).reason)


@pytest.mark.parametrize("network", QUICK)
@pytest.mark.parametrize("spoil", [lambda out: out * 1.01, lambda out: out * math.nan])
def test_wrong_answers_of_inference_are_wrong(images, network, spoil, monkeypatch):
    student, index = trainer(images, network)
    student.net.eval()
    infer = student.infer
    monkeypatch.setattr(student, "infer", lambda index: spoil(infer(index)))
    assert check_answers(NETWORKS[network], student, index).verdict == WRONG


def test_the_float64_reference_stays_small():
    assert verify.PICKED**2 * 2 * 16384 < verify.MOST_FLOPS
