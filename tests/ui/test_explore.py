"""Any axis on x, any as lines; common questions fill the controls with plans that can be measured."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest
from fakes import measurement, sweep
from streamlit.testing.v1 import AppTest
from test_app import button, clean

from bench.analysis import training_verdict
from bench.machine import energy
from bench.measure.job import State
from bench.records.measurement import Learning, Memory
from bench.text.tell import tell
from bench.ui.parts import explore, session
from bench.ui.parts.presets import PRESETS, choices_of

pytestmark = pytest.mark.usefixtures("home")


def varied():
    """Two sizes, two devices, two formats; every time tells which it is."""
    run, outcomes = sweep({64: {"cpu": 1}}), []
    for device, a in (("cpu", 1), ("mps", 2)):
        for size, b in ((100, 10), (200, 20)):
            for dtype, c in (("float32", 100), ("autocast-bfloat16", 300)):
                m = measurement(device, size, (a + b + c) * 1e-6)
                outcomes.append(replace(m, case=replace(m.case, dtype=dtype), memory=Memory(a + b + c, 1, "counted")))
    return replace(run, outcomes=tuple(outcomes))


def test_the_axes_are_those_with_more_than_one_value():
    assert explore.axes_of(varied()) == ["size", "device", "number format"]
    assert explore.axes_of(sweep({64: {"cpu": 1e-3}})) == []


@pytest.mark.parametrize(
    ("x", "line", "held", "expected"),
    [
        ("size", "device", {"number format": "float32"}, {"CPU": [111, 121], "MPS": [112, 122]}),
        ("device", "number format", {"size": 200}, {"float32": [121, 122], "autocast bfloat16": [321, 322]}),
        ("number format", "size", {"device": "MPS"}, {"100": [112, 312], "200": [122, 322]}),
    ],
)
def test_any_axis_lies_on_x_and_any_other_makes_lines(x, line, held, expected):
    figure = explore.along(varied(), x, line, "time", held)
    assert {trace.name: [round(1e6 * y) for y in trace.y] for trace in figure.data} == expected
    figure = explore.along(varied(), x, line, "memory", held)
    assert {trace.name: [round(y) for y in trace.y] for trace in figure.data} == expected


def test_what_is_wrong_is_on_no_line():
    run = varied()
    first = replace(run.outcomes[0], status="wrong")
    run = replace(run, outcomes=(first, *run.outcomes[1:]))
    figure = explore.along(run, "size", "device", "time", {"number format": "float32"})
    assert [len(trace.y) for trace in figure.data] == [1, 2]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_one_click_on_a_question_starts_what_answers_it(preset, monkeypatch):
    started = []

    def script(module):
        import importlib

        importlib.import_module(module).show()

    page = AppTest.from_function(script, default_timeout=60, args=(f"bench.ui.pages.{preset.page}",))
    clean(page.run()), clean(page.run())
    session.runner().join(60)
    monkeypatch.setattr(session.runner(), "start", lambda job, kind, planned=(): started.append((job, kind, planned)))
    clean(page.run())
    clean(button(page, f"ask {preset.name}").click().run())
    ((job, kind, planned),) = started
    plan, choices = job.args[0], choices_of(preset)
    assert kind == {"operations": "sweep", "training": "training"}[preset.page] and planned == plan.cases
    assert list(plan.dtypes) == choices["dtypes"]
    if preset.page == "operations":
        assert plan.operation == choices["op"]
    else:
        assert list(plan.networks) == choices["models"] and plan.one_by_one
    if preset.name == "threads":
        assert len(plan.threads) > 1 and plan.devices == ("cpu",)
    assert session.runner().snapshot.state is State.IDLE


def test_energy_is_absent_with_a_reason_and_joules_where_a_counter_is():
    assert energy.meter("mps", "Emulated MPS (not real hardware)").read is None
    for device in ("cpu", "xpu"):
        meter = energy.meter(device, "some chip")
        assert meter.read or tell(meter.reason).endswith((".", "zeus-apple-silicon"))


def test_apples_counter_adds_its_parts_up(monkeypatch):
    class Monitor:
        def begin_window(self, key):
            pass

        def end_window(self, key):
            return SimpleNamespace(cpu_total_mj=1500, gpu_mj=500, dram_mj=None)

    package = ModuleType("zeus_apple_silicon")
    package.AppleEnergyMonitor = Monitor
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", package)
    monkeypatch.setattr(sys, "platform", "darwin")
    meter = energy.meter("mps", "Apple M1")
    assert (meter.read(), meter.read()) == (2.0, 4.0) and meter.covers == energy.APPLE


@pytest.mark.parametrize(
    ("settings", "joules", "says"),
    [
        ({"cpu": {"covers": "", "absent": "No counter."}}, (), "Energy on CPU: absent. No counter."),
        ({"cpu": {"covers": "the board", "absent": ""}}, (3.0,), "an estimate of the board"),
        ({"cpu": {"covers": "the board", "absent": ""}}, (), "too short for the counter"),
        ({"cpu": 3}, (), ""),
        (7, (), ""),
    ],
)
def test_energy_says_what_it_covers_or_why_there_is_none(settings, joules, says):
    m = measurement("cpu", 128, 1e-3, workload="mlp/train")
    m = replace(m, learning=Learning(600, "some", (3.0,), {}, energy_j=joules))
    run = replace(sweep({}), kind="training", settings={"energy": settings}, outcomes=(m,))
    said = " ".join(map(tell, training_verdict.about_energy(run)))
    assert says in said and bool(says) == bool(said)
