"""Wrong steps and answers of a network are found, right ones are not called wrong."""

import math
from dataclasses import replace

import pytest
import torch
from fakes import ENVIRONMENT

from bench.analysis.caveats import caveats
from bench.machine.devices import Device
from bench.measure.plans import TrainingPlan
from bench.measure.trainer import Trainer, initial_weights, order
from bench.measure.verification.steps import check_answers, check_step, check_trained
from bench.records.case import Variant
from bench.records.measurement import REDUCED, RIGHT, UNVERIFIED, WRONG
from bench.records.run import Run
from bench.text.tell import tell
from bench.workloads.datasets import load
from bench.workloads.networks import NETWORKS

QUICK = [name for name in NETWORKS if name != "resnet18"]  # seconds a step, and nothing that the others lack


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


def spoil_first(net, change):
    """``change(gradient)`` of the first weights of two dimensions or more."""
    next(p for p in net.parameters() if p.dim() > 1).register_hook(change)


@pytest.mark.parametrize("network", QUICK)
@pytest.mark.parametrize("fresh", [True, False])
def test_a_wrong_row_or_column_of_a_gradient_is_wrong_and_placed(images, network, fresh):
    """A few lines are little of the whole gradient: only a look at each shows them."""
    faults = {
        "row": lambda grad: grad.index_fill(0, torch.tensor([busiest(grad, 0)]), 0.0),
        "column": lambda grad: grad.index_fill(-1, torch.tensor([busiest(grad, -1)]), 0.0),
    }
    for change in faults.values():
        student, index = trainer(images, network)
        spoil_first(student.net, change)
        found = check_step(NETWORKS[network], student, index, fresh)
        assert found.verdict == WRONG and "gradient" in tell(found.reason), found


def busiest(grad, dimension):
    return int(grad.movedim(dimension, 0).flatten(1).norm(dim=1).argmax())


def test_a_row_that_is_two_per_cent_off_is_named(images):
    student, index = trainer(images, "mlp")
    rows = []

    def change(grad):
        rows.append(busiest(grad, 0))
        grad = grad.clone()
        grad[rows[0]] *= 1.02
        return grad

    spoil_first(student.net, change)
    found = check_step(NETWORKS["mlp"], student, index, fresh=True)
    assert found.verdict == WRONG and tell(found.where) == f"row {rows[0]}", found


@pytest.mark.parametrize("what", [math.nan, math.inf])
def test_gradients_and_losses_that_are_no_numbers_are_wrong_and_raise_nothing(images, what, monkeypatch):
    student, index = trainer(images, "mlp")
    spoil_first(student.net, lambda grad: grad * what)
    assert check_step(NETWORKS["mlp"], student, index, fresh=True).verdict == WRONG
    student, index = trainer(images, "mlp")
    step = student.step
    monkeypatch.setattr(student, "step", lambda index: step(index) * what)
    assert check_step(NETWORKS["mlp"], student, index, fresh=True).verdict == WRONG


def test_weights_that_are_no_numbers_leave_nothing_to_compare_with(images):
    student, index = trainer(images, "mlp")
    with torch.no_grad():
        next(student.net.parameters()).fill_(math.nan)
    assert check_step(NETWORKS["mlp"], student, index, fresh=True).verdict == UNVERIFIED
    assert check_answers(NETWORKS["mlp"], student, index).verdict == UNVERIFIED


def test_one_image_answered_slightly_wrong_is_wrong_and_named(images, monkeypatch):
    student, index = trainer(images, "mlp")
    student.net.eval()
    infer = student.infer

    def spoil(index):
        out = infer(index).clone()
        out[5] *= 1.0002
        return out

    monkeypatch.setattr(student, "infer", spoil)
    found = check_answers(NETWORKS["mlp"], student, index)
    assert found.verdict == WRONG and tell(found.where) == "image 5"


@pytest.mark.parametrize(("most", "told"), [(1.0, True), (0.95, True), (0.5, False)])
def test_images_nearly_all_of_one_class_are_told(images, most, told):
    labels = torch.arange(400) % 10
    labels[: round(400 * most)] = 3
    known = replace(images, train_y=labels).labels
    assert known["largest"] == pytest.approx((400 * most + (400 - 400 * most) / 10) / 400, abs=0.01)
    run = Run("training", ENVIRONMENT, {"labels": known})
    assert any("of one class" in tell(one) for one in caveats(run)) == told
    assert caveats(Run("training", ENVIRONMENT, {"labels": {"largest": math.nan, "classes": "?"}})) == []
    assert caveats(Run("training", ENVIRONMENT, {"labels": [1]})) == []
