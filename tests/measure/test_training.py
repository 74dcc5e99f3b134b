"""Training and inference, for real but small, on every device that is here."""

import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from fakes import Watcher

from bench.measure.discovery import find_devices
from bench.measure.gate import Gate
from bench.measure.job import State, Stopped
from bench.measure.plans import TrainingPlan
from bench.measure.runner import Runner
from bench.measure.trainer import PHASES, Trainer, initial_weights, order
from bench.measure.training import train
from bench.records.case import Variant
from bench.records.measurement import Failure, Measurement
from bench.text.tell import tell
from bench.workloads.datasets import DataError
from bench.workloads.networks import NETWORKS

FOUND = {info.name: info for info in find_devices() if info.usable}
TIMED_ROOMS = ("epochs", "inference", "preparation", "trainer")  # modules of which nothing may wait in a block
PLAN = TrainingPlan(("mlp", "convnet"), tuple(FOUND), epochs=2, batches=(64,), images=1500, data="synthetic")


@pytest.fixture(scope="module")
def trained():
    """One run of both networks on all devices, through the runner."""
    runner = Runner(lambda: tuple(FOUND.values()), Gate(settle=lambda: None))
    runner.start(partial(train, PLAN), "training", PLAN.cases)
    snapshot = runner.join(240)
    assert snapshot.state is State.DONE, snapshot.details
    return snapshot


def of_training(run):
    (found,) = (m for m in run.measurements if m.case.workload.endswith("/train"))
    return found


def measured(trained, network, device, mode="train"):
    return next(
        m for m in trained.run.measurements if m.case.workload == f"{network}/{mode}" and m.case.device == device
    )


def test_every_planned_case_has_one_outcome(trained):
    found = [o.case for o in trained.run.outcomes]
    assert len(found) == len(set(found)) and set(found) == set(PLAN.cases)
    assert not trained.run.failures


@pytest.mark.parametrize("network", PLAN.networks)
@pytest.mark.parametrize("device", FOUND)
def test_samples_add_up_to_the_epochs(trained, network, device):
    """A sample is seconds a batch: times the batches it stands for, all samples make the epochs' time."""
    m = measured(trained, network, device)
    assert len(m.rounds) == len(m.learning.epochs_s) == PLAN.epochs
    assert sum(m.rounds) == len(m.samples_s)
    average = sum(m.learning.epochs_s) / PLAN.epochs / (PLAN.images / PLAN.batches[0])
    assert min(m.samples_s) <= average <= max(m.samples_s)
    assert m.cost.items == PLAN.batches[0]


@pytest.mark.parametrize("network", PLAN.networks)
def test_devices_do_the_same_work(trained, network):
    """Same weights, same batches: the first losses agree closely, and all devices learn."""
    reference = measured(trained, network, "cpu").learning.losses
    for device in FOUND:
        m = measured(trained, network, device)
        assert [images for images, _ in m.learning.losses] == [images for images, _ in reference]
        half = len(reference) // 2
        assert [x for _, x in m.learning.losses[:half]] == pytest.approx([x for _, x in reference[:half]], rel=0.02)
        assert m.learning.losses[-1][0] == PLAN.epochs * PLAN.images
        assert m.learning.losses[-1][1] < m.learning.losses[0][1]
        assert m.learning.test_accuracy > 0.5
        assert m.learning.train_loss < 2.0


@pytest.mark.parametrize("network", PLAN.networks)
@pytest.mark.parametrize("device", FOUND)
def test_phases_are_timed_apart(trained, network, device):
    train_phases = measured(trained, network, device).learning.phases_s
    infer_phases = measured(trained, network, device, "infer").learning.phases_s
    assert tuple(train_phases) == PHASES and tuple(infer_phases) == PHASES[:3]
    assert all(len(seconds) > 1 and min(seconds) > 0 for seconds in train_phases.values())


def test_curves_have_a_line_for_each_network_and_device(trained):
    assert [c.case for c in trained.curves] == [case for case in PLAN.cases if case.workload.endswith("train")]
    for curve in trained.curves:
        assert len(curve.images) == len(curve.losses) == len(curve.seconds)
        assert list(curve.seconds) == sorted(curve.seconds)


def test_too_few_blocks_make_no_speed_up_and_say_so():
    watcher = Watcher(FOUND)
    train(TrainingPlan(("mlp",), ("cpu",), batches=(100,), images=300, data="synthetic"), watcher)
    outcome = of_training(watcher.run)
    assert outcome.status == "noisy" and tell(outcome.reason).startswith("Only 3 blocks were timed")


def trainer(images, network="mlp", weights=None, device="cpu"):
    from bench.machine.devices import Device

    net = NETWORKS[network]
    plan = TrainingPlan((network,), (device,), batches=(32,), images=200, data="synthetic")
    return Trainer(net, Device(device), images, plan, weights or initial_weights(net, 0), Variant(device)), plan


@pytest.fixture(scope="module")
def images():
    from bench.workloads.datasets import load

    return load("synthetic", images=200)


def test_the_seed_decides_weights_and_order():
    net = NETWORKS["mlp"]
    first, second, other = initial_weights(net, 0), initial_weights(net, 0), initial_weights(net, 1)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["1.weight"], other["1.weight"])
    plan = TrainingPlan(("mlp",), ("cpu",), images=200, batches=(32,), data="synthetic")
    assert torch.equal(order(plan, 0), order(plan, 0)) and not torch.equal(order(plan, 0), order(plan, 1))
    assert sorted(order(plan, 0).tolist()) == list(range(200))


def test_a_training_step_is_adam_with_the_articles_rate(images):
    student, plan = trainer(images)
    assert type(student._optimizer) is torch.optim.Adam
    assert student._optimizer.param_groups[0]["lr"] == 3e-4
    before = [p.clone() for p in student.net.parameters()]
    loss = student.step(order(plan, 0)[:32])
    assert loss.item() == pytest.approx(2.3, abs=0.5), "ten classes, nothing learnt yet"
    assert all(not torch.equal(a, b) for a, b in zip(before, student.net.parameters(), strict=True))


def test_waking_a_device_changes_nothing(images):
    student, plan = trainer(images)
    before = {name: tensor.clone() for name, tensor in student.net.state_dict().items()}
    student.wake(order(plan, 0)[:32])
    assert student.net.training
    assert all(torch.equal(before[name], tensor) for name, tensor in student.net.state_dict().items())


def test_inference_uses_the_trained_statistics_and_keeps_no_gradients(images):
    student, plan = trainer(images)
    student.net.eval()
    index = order(plan, 0)[:32]
    assert not student.infer(index).requires_grad
    assert torch.equal(student.infer(index), student.infer(index))


def test_the_loss_is_not_read_every_batch(monkeypatch):
    """Reading it waits for the device: at most once a block of several batches."""
    reads = []

    def counted(read):
        def wrapped(self):
            if Path(sys._getframe(1).f_code.co_filename).stem in TIMED_ROOMS:
                reads.append(1)
            return read(self)

        return wrapped

    for name in ("item", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, counted(getattr(torch.Tensor, name)))
    plan = TrainingPlan(("mlp",), ("cpu",), batches=(16,), images=1600, data="synthetic")
    watcher = Watcher(FOUND)
    train(plan, watcher)
    blocks = len(of_training(watcher.run).samples_s)
    tests = 10  # the accuracy, once for each 1 000 test images
    assert blocks <= len(reads) <= blocks + tests < plan.images / plan.batches[0]


def test_a_device_that_fails_ends_as_rows_and_the_others_go_on(monkeypatch):
    def broken(self, index, lap=None):
        raise RuntimeError("MPS backend out of memory")

    monkeypatch.setattr(Trainer, "step", broken)
    watcher = Watcher(FOUND)
    train(TrainingPlan(("mlp",), ("cpu",), batches=(32,), images=200, data="synthetic"), watcher)
    assert [type(o) for o in watcher.run.outcomes] == [Failure, Failure]
    assert "out of memory" in tell(watcher.run.failures[0].error)


def test_training_is_kept_when_inference_fails(monkeypatch):
    def broken(self, batches):
        raise NotImplementedError("no kernel for this")

    monkeypatch.setattr(Trainer, "infer_all", broken)
    watcher = Watcher(FOUND)
    train(TrainingPlan(("mlp",), ("cpu",), batches=(32,), images=200, data="synthetic"), watcher)
    failed, trained = watcher.run.outcomes
    assert isinstance(failed, Failure) and isinstance(trained, Measurement)
    assert trained.case.workload == "mlp/train"


def test_stop_is_heard_after_a_block():
    watcher = Watcher(FOUND)
    publish = watcher.publish

    def stop_at_the_first_block(**changes):
        publish(**changes)
        if tell(changes.get("stage")).startswith("epoch"):
            watcher.stop.set()

    watcher.publish = stop_at_the_first_block
    with pytest.raises(Stopped):
        train(TrainingPlan(("mlp",), ("cpu",), batches=(32,), images=1000, epochs=5, data="synthetic"), watcher)
    assert sum("epoch" in tell(p.get("stage")) for p in watcher.published) == 1


def test_data_that_cannot_be_had_is_one_sentence(tmp_path):
    with pytest.raises(DataError):
        train(TrainingPlan(("mlp",), ("cpu",), data=str(tmp_path)), Watcher(FOUND))


@pytest.mark.parametrize("network", [name for name in NETWORKS if name not in PLAN.networks])
def test_the_other_networks_train_and_are_verified_too(network, few_test_images):
    watcher = Watcher(FOUND)
    plan = TrainingPlan((network,), tuple(FOUND), batches=(16,), images=64, data="synthetic")
    train(plan, watcher)
    assert not watcher.run.failures and len(watcher.run.measurements) == 2 * len(FOUND)
    assert all(m.believed and m.check.verdict == "right" for m in watcher.run.measurements), watcher.run.measurements
