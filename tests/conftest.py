"""What every test needs."""

import os

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # tests run beside this one: PyTorch's threads sleep while they wait
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when PyTorch is imported


@pytest.fixture(autouse=True, scope="session")
def _not_at_home(tmp_path_factory):
    """Nothing that a test starts writes into the home of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of its own for what the program writes, and a page whose runner and store begin anew."""
    from bench.ui.parts import session

    monkeypatch.setenv("BENCH_HOME", str(tmp_path / "home"))
    session.runner.clear()
    session.kept.clear()
    return tmp_path / "home"


@pytest.fixture(autouse=True, scope="session")
def _singles_are_short():
    """Single images are tried for a second in each training; that many tests train would take minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.measure.inference.SINGLES_S", 0.1)
        yield


@pytest.fixture
def few_test_images(monkeypatch):
    """500 of the synthetic set's 10 000: a large network on a processor without bfloat16 takes minutes for all."""
    from bench.workloads import datasets

    made = datasets.SOURCES[datasets.SYNTHETIC]

    def shortened(folder):
        label, (train_x, train_y, test_x, test_y) = made(folder)
        return label, [train_x, train_y, test_x[:500], test_y[:500]]

    monkeypatch.setitem(datasets.SOURCES, datasets.SYNTHETIC, shortened)
