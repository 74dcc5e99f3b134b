"""What the figures show, read off the figures themselves."""

from dataclasses import replace

import pytest
from fakes import measurement, sweep

from bench import models, ops  # noqa: F401
from bench.ui import details


def test_three_clocks_stand_side_by_side_where_the_device_has_them():
    """The CPU has no events; the wall is solid, the others are not."""
    run = sweep({200: {"cpu": 1, "mps": 1}})
    run = replace(run, outcomes=())
    cpu = measurement("cpu", 100, 1e-3)
    mps = replace(measurement("mps", 100, 2e-3), events_s=(1.9e-3, 1.8e-3, 1.9e-3))
    figure = details.clocks_against_size(run.with_outcomes(cpu, mps), "m", [100], True)
    read = {trace.name: (trace.line.dash, trace.y[0]) for trace in figure.data}
    assert read == {
        "CPU, wall": ("solid", pytest.approx(1e-3, rel=0.01)),
        "CPU, until queued": ("dash", pytest.approx(1e-4, rel=0.01)),
        "MPS, wall": ("solid", pytest.approx(2e-3, rel=0.01)),
        "MPS, device's own": ("dot", pytest.approx(1.9e-3)),
        "MPS, until queued": ("dash", pytest.approx(2e-4, rel=0.01)),
    }
