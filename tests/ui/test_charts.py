"""What the figures show, read off the figures themselves."""

import re
from dataclasses import replace

import pytest
from fakes import ENVIRONMENT, measurement, sweep
from test_reading import seeds
from test_security import hostile_run

from bench.analysis.comparison import compare
from bench.machine import ceilings
from bench.text.tell import tell
from bench.ui.charts import comparison, roofline_chart, sample_charts, sweep_charts
from bench.ui.parts.report import report


def test_three_clocks_stand_side_by_side_where_the_device_has_them():
    """The CPU has no events; the wall is solid, the others are not."""
    run = sweep({200: {"cpu": 1, "mps": 1}})
    run = replace(run, outcomes=())
    cpu = measurement("cpu", 100, 1e-3)
    mps = replace(measurement("mps", 100, 2e-3), events_s=(1.9e-3, 1.8e-3, 1.9e-3))
    figure = sample_charts.clocks_against_size(run.with_outcomes(cpu, mps), "m", [100], True)
    read = {trace.name: (trace.line.dash, trace.y[0]) for trace in figure.data}
    assert read == {
        "CPU, wall": ("solid", pytest.approx(1e-3, rel=0.01)),
        "CPU, until queued": ("dash", pytest.approx(1e-4, rel=0.01)),
        "MPS, wall": ("solid", pytest.approx(2e-3, rel=0.01)),
        "MPS, device's own": ("dot", pytest.approx(1.9e-3)),
        "MPS, until queued": ("dash", pytest.approx(2e-4, rel=0.01)),
    }


def test_samples_stand_in_the_order_taken_round_by_round():
    m = measurement("mps", 100, 1e-3)
    figure = sample_charts.samples_of(m, "MPS")
    *rounds, histogram = figure.data
    assert len(rounds) == len(m.rounds) and [s for part in rounds for s in part.y] == list(m.samples_s)
    assert [x for part in rounds for x in part.x] == list(range(1, len(m.samples_s) + 1))
    assert list(histogram.y) == list(m.samples_s)


def test_a_roofline_has_the_slope_of_the_memory_and_the_height_of_the_arithmetic():
    run = sweep({256: {"cpu": 1e-4, "mps": 1e-4}, 1024: {"cpu": 1e-3, "mps": 2e-4}})
    roofs = ceilings.roofs(run)
    assert [tell(roof.basis) for roof in roofs] == ["published: M1 Pro"] * 2
    assert (roofs[1].flops_per_s, roofs[1].bytes_per_s) == (5.31e12, 200e9)
    figure = roofline_chart.roofline(run, roofs)
    cpu, mps, _, roof = figure.data
    assert list(cpu.x) == [0.5, 0.5] and list(mps.y) == pytest.approx([2 * 256**2 / 1e-4, 2 * 1024**2 / 2e-4], rel=0.01)
    for x, y in zip(roof.x, roof.y, strict=True):
        assert y == pytest.approx(min(200e9 * x, 5.31e12))
    assert roof.line.dash == "dash" and roof.name.startswith("published")


def test_without_a_published_ceiling_the_copy_measured_here_serves_and_says_so():
    run = sweep({256: {"cpu": 1e-4}}, environment=replace(ENVIRONMENT, chip="AMD EPYC"))
    assert ceilings.roofs(run) == []
    run = replace(run, settings=run.settings | {"copy_bytes_per_s": {"cpu": 2e10, "mps": "x"}})
    (roof,) = ceilings.roofs(run)
    assert (roof.device, tell(roof.basis)) == ("cpu", "CPU: copy measured here")
    assert (roof.flops_per_s, roof.bytes_per_s) == (0.0, 2e10)
    figure = sweep_charts.rate_against_size(run, "m", [256], True, "B/s")
    roofline_chart.add_roofs(figure, [roof], "B/s")
    assert figure.layout.shapes[-1].y0 == 2e10


def test_a_report_is_one_file_with_everything_in_it_and_nothing_fetched():
    for run in (sweep({256: {"cpu": 1e-4, "mps": 1e-4}, 512: {"cpu": 4e-4, "mps": 1e-4}}), *seeds()):
        page = report(run)
        assert page.startswith("<!doctype html>") and page.count("<html") == 1
        body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        assert not re.search(r"(src|href)\s*=", body) and "@import" not in body
        for part in ("Every case", "Method", "Machine", "Settings", run.environment.chip, run.environment.torch):
            assert part in body
        for outcome in run.outcomes:
            assert f"{outcome.case.workload} {outcome.case.size}" in body
        assert ("Emulated device" in body) == run.emulated


def test_a_report_of_a_hostile_run_has_no_tag_of_its_words():
    page = report(hostile_run())
    assert "&lt;script&gt;alert(1)" in page and "<img src=x" not in page and "<script>alert(1)" not in page


def test_a_comparison_over_sizes_has_a_line_a_lane_and_one_of_networks_a_name_a_case():
    points = {64: {"cpu": 1e-5, "mps": 1e-4}, 512: {"cpu": 1e-4, "mps": 1e-4}}
    run = sweep(points)
    figure = comparison.ratios(compare(run, run), run)
    assert [(trace.name, list(trace.x)) for trace in figure.data] == [
        ("Matrix × vector · CPU", [64, 512]),
        ("Matrix × vector · MPS", [64, 512]),
    ]
    trained = next(run for run in seeds() if run.kind == "training")
    figure = comparison.ratios(compare(trained, trained), trained)
    assert figure.layout.xaxis.type == "category" and all(trace.x[0] == trace.name for trace in figure.data)


def test_a_sustained_run_is_calls_a_second_against_time_round_by_round():
    m = measurement("cpu", 100, 1e-3)
    run = replace(sweep({}), outcomes=(m,))
    (trace,) = sample_charts.speed_over_time(run).data
    assert len(trace.x) == len(trace.y) == len(m.rounds)
    assert trace.x[-1] == pytest.approx(sum(m.samples_s) * m.calls) and list(trace.x) == sorted(trace.x)
    assert list(trace.y) == pytest.approx([1e3] * len(m.rounds), rel=0.05)
