"""Before Run: how long, how much memory, what does not fit."""

import pytest
from fakes import rates

from bench.measure.forecast import omissions, sweep_forecast, training_forecast
from bench.measure.plans import SweepPlan, TrainingPlan
from bench.records.budget import EFFORTS
from bench.text.tell import tell

PAIR = {"cpu": rates(), "mps": rates("mps", "MPS", memory=4e9, shares=True)}


def test_what_does_not_fit_is_named_and_left_out():
    """A matrix of 16 384 × 16 384 takes 1.07 GB, twice on shared memory; a product takes three."""
    plan = SweepPlan("matmul", (64, 16384), ("cpu", "mps"))
    forecast = sweep_forecast(plan, PAIR)
    assert list(forecast.left_out) == [16384]
    assert "needs 6.44 GB of memory, and 8.00 GB are free" in tell(forecast.left_out[16384])
    (omission,) = omissions(forecast)
    assert tell(omission).startswith("m = 16\u202f384 is left out: it needs 6.44 GB of memory")
    assert forecast.memory_bytes == 2 * 4 * 3 * 64 * 64


def test_an_accelerator_with_memory_of_its_own_is_asked_for_its_own():
    pair = {"cpu": rates(), "cuda": rates("cuda", "CUDA", memory=2e9)}
    plan = SweepPlan("matmul", (16384,), ("cpu", "cuda"))
    assert "on CUDA, which has 2.00 GB free" in tell(sweep_forecast(plan, pair).left_out[16384])


def test_more_effort_and_larger_sizes_take_longer():
    def seconds(effort, sizes=(100, 1000)):
        return sweep_forecast(SweepPlan("matmul", sizes, ("cpu", "mps"), EFFORTS[effort]), PAIR).seconds

    assert seconds("quick") < seconds("standard") < seconds("thorough")
    assert seconds("quick") < seconds("quick", (100, 8000))


def test_the_article_takes_about_ten_seconds_quickly():
    plan = SweepPlan("matvec", (100, 300, 500, 750, 1000, 1500, 2000, 2500, 3000), ("cpu", "mps"), EFFORTS["quick"])
    assert 3 < sweep_forecast(plan, PAIR).seconds < 20


@pytest.mark.parametrize("change", [{"epochs": 2}, {"images": 120_000}, {"networks": ("mlp", "convnet")}])
def test_more_training_takes_longer(change):
    few = {"networks": ("convnet",), "devices": ("cpu",)}
    little = training_forecast(TrainingPlan(**few), PAIR)
    assert training_forecast(TrainingPlan(**few | change), PAIR).seconds > 1.1 * little.seconds
