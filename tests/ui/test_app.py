"""Every page, through its own widgets."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
import streamlit
from fakes import ENVIRONMENT, measurement, sweep
from streamlit.testing.v1 import AppTest

from bench.measure import clock
from bench.measure.job import State
from bench.measure.plans import SweepPlan
from bench.records.budget import EFFORTS
from bench.records.case import Case
from bench.records.curve import Curve
from bench.records.measurement import WRONG, Check, Failure, Learning
from bench.records.reason import Quantity, because, quoted
from bench.records.run import Run
from bench.text.units import count
from bench.ui.charts import sweep_charts
from bench.ui.parts import live, session

APP = str(Path(__file__).parents[2] / "app.py")


pytestmark = pytest.mark.usefixtures("home")


def clean(app):
    assert not app.exception, app.exception
    return app


def fresh():
    return clean(AppTest.from_file(APP, default_timeout=60).run())


@pytest.fixture
def app():
    """The app after PyTorch has come: the second turn of the page brings it in."""
    app = fresh()
    clean(app.run())
    session.runner().join(60)
    return clean(app.run())


def finished(kind, run, **more):
    """As if this run had just ended."""
    runner = session.runner()
    runner._snapshot = replace(runner.snapshot, state=State.DONE, kind=kind, run=run, **more)


def button(app, key):
    return next((b for b in app.button if b.key == key), None)


def test_the_page_is_there_before_pytorch(monkeypatch):
    app = fresh()
    assert session.runner().snapshot.state is State.ASLEEP, "the first turn paints and wakes nothing"
    assert button(app, "run").disabled
    assert any("Loading PyTorch" in c.value for c in app.caption)


def test_the_heading_waits_for_no_control_and_no_icon(monkeypatch):
    """Streamlit's first control imports for a tenth of a second, and so does looking for an emoji."""
    order = []

    def log(name, counts=lambda more: True):
        call = getattr(streamlit, name)

        def logged(*given, **more):
            if counts(more):
                order.append(name)
            return call(*given, **more)

        monkeypatch.setattr(streamlit, name, logged)

    log("title")
    log("segmented_control")
    log("set_page_config", lambda more: "page_icon" in more)
    fresh()
    assert order[0] == "title" and order[-2:] == ["segmented_control", "set_page_config"]


def test_before_run_the_page_says_how_many_cases_and_how_long(app):
    usable = len(session.runner().snapshot.usable)
    label = button(app, "run").label.removeprefix(":violet[")
    assert label.startswith(f"Run · {9 * usable} cases · about ") and not button(app, "run").disabled
    assert any("of memory" in c.value for c in app.caption)


def test_absent_devices_are_listed_with_their_reasons(app):
    absent = next(c for c in app.caption if c.value.startswith("Not here:"))
    assert "XPU" in absent.value and "Intel GPU" in absent.help


def test_a_sweep_ends_in_a_chart_a_table_and_files(app):
    app.segmented_control(key="sizes").set_value("range")
    app.select_slider(key="effort").set_value("quick")
    clean(app.run())
    app.select_slider(key="range").set_value((16, 64))
    app.number_input(key="count").set_value(2)
    clean(app.run())
    clean(button(app, "run").click().run())
    snapshot = session.runner().join(60)
    assert snapshot.state is State.DONE, snapshot.details
    clean(app.run())
    assert len(app.get("plotly_chart")) == (7 if len(snapshot.usable) > 1 else 5)
    assert len(app.get("download_button")) == 4
    assert len(app.dataframe[0].value) == 2 * len(snapshot.usable)


def test_while_one_runs_every_tab_shows_stop_and_none_can_start(app):
    import threading

    go = threading.Event()
    session.runner().start(lambda control: go.wait(30), "sweep")
    try:
        for tab in (app, fresh()):
            clean(tab.run())
            assert button(tab, "run") is None and button(tab, "stop").label == "Stop"
    finally:
        go.set()
    session.runner().join(10)
    assert button(clean(app.run()), "run") is not None


def test_a_recorded_run_is_shown_with_verdict_doubts_and_failures(app):
    points = {100: {"cpu": 1e-5, "mps": 1e-4}, 3000: {"cpu": 1e-3, "mps": 1e-4}}
    finished("sweep", sweep(points, failures=[(8192, "mps", "MPS backend out of memory")]))
    clean(app.run())
    assert any("use the CPU, above it MPS: 10.0 times" in s.value for s in app.subheader)
    assert any(f"{count(8192)} on MPS: MPS backend out of memory" in w.value for w in app.warning)
    assert len(app.metric) == 2, "the largest size on either device; two sizes make no curve"
    assert not any("Emulated" in w.value for w in app.warning)


def test_the_charts_of_a_run_that_is_over_are_built_once_for_each_choice_and_language(app, monkeypatch):
    built = []
    for name in ("time_against_size", "speedup_against_size", "rate_against_size"):
        build = getattr(sweep_charts, name)
        monkeypatch.setattr(
            sweep_charts,
            name,
            lambda *given, name=name, build=build, **more: built.append(name) or build(*given, **more),
        )
    finished("sweep", sweep({100: {"cpu": 1e-5, "mps": 1e-4}, 200: {"cpu": 2e-5, "mps": 1e-4}}))
    clean(app.run())
    assert sorted(built) == ["rate_against_size", "speedup_against_size", "time_against_size"]
    clean(app.run())
    assert len(built) == 3
    app.segmented_control(key="rate").set_value("B/s")
    clean(app.run())
    assert built[3:] == ["rate_against_size"]
    app.pills(key="chips").set_value(["M1"])
    clean(app.run())
    assert built[4:] == ["rate_against_size"]
    app.segmented_control(key="axes").set_value("linear")
    clean(app.run())
    assert len(built) == 8
    other = AppTest.from_file(APP, default_timeout=60)
    other.query_params["lang"] = "Bahasa Indonesia"
    clean(other.run())
    assert len(built) == 11 and "waktu per panggilan" in other.get("plotly_chart")[0].proto.spec
    finished("sweep", sweep({100: {"cpu": 1e-5, "mps": 1e-4}, 200: {"cpu": 2e-5, "mps": 1e-4}}))
    clean(app.run())
    assert len(built) == 14, "another run with the same choices"


def test_an_emulated_result_is_never_shown_without_its_label(app):
    environment = replace(ENVIRONMENT, devices={"cpu": "x", "mps": "Emulated MPS (not real hardware)"})
    finished("sweep", sweep({100: {"cpu": 1e-5, "mps": 1e-4}}, environment=environment))
    clean(app.run())
    assert any("Emulated device" in w.value for w in app.warning)


def test_a_broken_run_says_so_and_shows_what_was_finished(app):
    finished("sweep", sweep({100: {"cpu": 1e-5}}))
    session.runner()._snapshot = replace(
        session.runner().snapshot, state=State.BROKEN, error=quoted("It broke."), details="…"
    )
    clean(app.run())
    assert any("It broke." in e.value for e in app.error) and app.dataframe


@pytest.mark.parametrize(
    ("key", "value", "says"), [("count", 0, "from 1 to 200"), ("count", 500, "from 1 to 200"), ("count", -3, "-3")]
)
def test_a_wrong_number_of_sizes_is_refused_where_it_was_typed(app, key, value, says):
    app.segmented_control(key="sizes").set_value("range")
    clean(app.run())
    app.number_input(key=key).set_value(value)
    clean(app.run())
    assert any(says in e.value for e in app.sidebar.error)
    assert button(app, "run").disabled


@pytest.fixture
def training(app):
    return visit(app, "training")


def visit(app, page):
    """AppTest can't click the navigation of callables; the page is asked for by its hash, as the browser does."""
    from streamlit.util import calc_hash

    app._page_hash = calc_hash(page)
    return clean(app.run())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"epochs": 0}, "Epochs must be"),
        ({"images": 0}, "Images must be"),
        ({"batch": 0}, "batch size"),
        ({"batch": "many"}, "whole numbers"),
        ({"images": 64}, "A batch of 128"),
        ({"images": 129}, "batch normalisation needs at least 2"),
    ],
)
def test_wrong_training_numbers_are_refused_where_they_were_typed(training, changes, says):
    for key, value in changes.items():
        if key == "batch":
            training.text_input(key=key).set_value(str(value))
        else:
            training.number_input(key=key).set_value(value)
    clean(training.run())
    assert [says in e.value for e in training.sidebar.error] == [True]
    assert button(training, "run").disabled


def test_missing_fashion_mnist_is_offered_for_download_and_run_waits(training):
    assert button(training, "run").disabled and button(training, "fetch") is not None
    assert any("Fashion-MNIST is not on this machine yet" in w.value for w in training.warning)


def test_a_folder_that_is_not_there_is_told_at_once(training):
    training.selectbox(key="data").set_value("folder")
    clean(training.run())
    training.text_input(key="folder").set_value("/no/such/folder")
    clean(training.run())
    assert any("no folder /no/such/folder" in e.value for e in training.sidebar.error)


def test_a_training_ends_in_the_recap_of_the_article(training):
    training.selectbox(key="data").set_value("synthetic")
    training.pills(key="models").set_value(["mlp"])
    training.number_input(key="images").set_value(600)
    clean(training.run())
    clean(button(training, "run").click().run())
    snapshot = session.runner().join(90)
    assert snapshot.state is State.DONE, snapshot.details
    clean(training.run())
    table = training.dataframe[0].value
    assert list(table.model) == ["MLP"] * len(snapshot.usable)
    assert (table.training > 0).all() and (table.inference > 0).all()
    assert len(training.get("plotly_chart")) == 4 and len(training.get("download_button")) == 4
    assert any("contain loading" in c.value for c in training.caption)


def test_a_training_that_failed_on_one_device_shows_the_other(training):
    learning = Learning(
        600,
        "synthetic",
        (1.0,),
        {p: (0.1,) for p in ("loading", "copy", "forward", "backward", "optimiser")},
        ((600, 1.0),),
        1.0,
        0.9,
    )
    trained = replace(measurement("cpu", 128, 0.01, "mlp/train"), learning=learning)
    run = Run(
        "training",
        ENVIRONMENT,
        {"images": 600, "data": "synthetic", "networks": ["mlp"]},
        (trained, Failure(Case("mlp/train", 128, "mps"), quoted("Operator missing."))),
    )
    finished("training", run, curves=(Curve(Case("mlp/train", 128, "cpu"), (600,), (1.0,), (1.0,)),))
    clean(training.run())
    assert any("Operator missing." in w.value for w in training.warning)
    assert len(training.dataframe[0].value) == 1


def test_this_machine_tells_what_is_here(app):
    page = visit(app, "machine")
    text = " ".join(m.value for m in page.markdown)
    assert "Python 3" in text and "not downloaded" in text


def test_without_pytorch_the_page_says_so():
    session.runner()._find_devices = lambda: 1 / 0
    app = fresh()
    clean(app.run())
    session.runner().join(10)
    clean(app.run())
    assert any("PyTorch could not be loaded" in e.value for e in app.error)
    assert button(app, "run").disabled


def test_a_wrong_answer_is_struck_out_and_never_wins(app):
    """Eight times as fast, and wrong: no sentence, no speed-up, a cross on the chart, a reason under the verdict."""
    right = sweep({100: {"cpu": 1e-3, "mps": 5e-4}, 200: {"cpu": 4e-3, "mps": 5e-4}})
    found = because("differs", what=because("result"), part=Quantity(0.03, "%"))
    check = Check(WRONG, 0.03, 1e-6, found)
    outcomes = [
        replace(o, status=WRONG, reason=check.reason, check=check)
        if (o.case.size, o.case.device) == (200, "mps")
        else o
        for o in right.outcomes
    ]
    run = replace(right, outcomes=tuple(outcomes))
    finished("sweep", run)
    clean(app.run())
    assert any(
        "200 on MPS is struck out: its result differs from the reference by 3.0 %" in c.value for c in app.caption
    )
    assert app.subheader[0].value.startswith("Use MPS at all these sizes: 2.00 times")
    assert app.dataframe[0].value["speed-up"].notna().sum() == 1
    figure = sweep_charts.time_against_size(run, "m", [100, 200], True)
    assert [t.name for t in figure.data] == ["CPU", "MPS", "struck out"]
    assert list(figure.data[1].x) == [100] and list(figure.data[2].x) == [200]


def test_the_noise_of_the_instrument_becomes_a_band(app):
    figure = sweep_charts.speedup_against_size(sweep({100: {"cpu": 1e-3, "mps": 5e-4}}), "m", [100], True, band=1.05)
    (band, _line) = figure.layout.shapes
    assert (band.y0, band.y1) == (1 / 1.05, 1.05)


def test_the_article_page_tells_the_claim_and_replays(app):
    page = visit(app, "article")
    assert any("14 times as fast" in m.value for m in page.markdown)
    page.selectbox(key="data").set_value("synthetic")
    page.pills(key="models").set_value(["mlp"])
    page.number_input(key="images").set_value(600)
    clean(page.run())
    assert button(page, "run").label.startswith(":violet[Replay · about")
    clean(button(page, "run").click().run())
    snapshot = session.runner().join(180)
    assert snapshot.state is State.DONE, snapshot.details
    clean(page.run())
    table = page.dataframe[0].value
    assert len(table) == (9 + 2) * len(snapshot.usable) and (table["off by"] > 0).all()
    assert len(page.get("plotly_chart")) == 2


def test_a_device_is_measured_against_itself_from_the_page(app):
    finished("sweep", sweep({100: {"cpu": 1e-5, "mps": 1e-4}}))
    app.segmented_control(key="sizes").set_value("range")
    app.select_slider(key="effort").set_value("quick")
    clean(app.run())
    app.select_slider(key="range").set_value((16, 64))
    app.number_input(key="count").set_value(2)
    clean(app.run())
    app.session_state["experiments"] = True  # opened
    clean(app.run())
    clean(button(app, "itself").click().run())
    assert session.runner().join(60).state is State.DONE
    clean(app.run())
    assert any("against itself:" in m.value for m in app.markdown)


def test_a_job_that_ends_while_the_page_is_drawn_leaves_no_stop_button(app, monkeypatch):
    """It was running when the page began and is over when the page comes to it: the page is drawn once more."""
    runner = session.runner()
    over = replace(runner.snapshot, state=State.BROKEN, kind="sweep", error=quoted("It broke at once."))
    now = [replace(over, state=State.RUNNING)]
    draw_button = live.st.button

    def drawn(*arguments, key=None, **more):
        if key == "stop":
            now[:] = [over]
        return draw_button(*arguments, key=key, **more)

    monkeypatch.setattr(live.st, "button", drawn)
    monkeypatch.setattr(type(runner), "snapshot", property(lambda self: now[0]))
    clean(app.run())
    assert button(app, "stop") is None and button(app, "run") is not None
    assert any("It broke at once." in e.value for e in app.error)


def test_a_crash_is_named_once_and_the_run_can_be_gone_on_with(home):
    from bench.storage.store import open_store

    run = Run("sweep", ENVIRONMENT, asdict(SweepPlan("matvec", (64, 65), ("cpu",), EFFORTS["quick"])))
    store = open_store(home / "runs.db")
    run_id = store.begin(run, [Case("matvec", 64, "cpu"), Case("matvec", 65, "cpu")])
    store.about_to(run_id, Case("matvec", 64, "cpu"), because("stage_first_call"))
    app = fresh()
    clean(app.run())
    session.runner().join(60)
    clean(app.run())
    (told,) = [w.value for w in app.warning if "ended abruptly" in w.value]
    assert "while Matrix × vector, 64 on CPU was measured (first call and warm-up). 0 of 2 cases" in told
    clean(button(app, f"go on {run_id}").click().run())
    session.runner().join(60)
    clean(app.run())
    assert not any("The program ended abruptly while Matrix" in w.value for w in app.warning)
    after = session.runner().snapshot.run
    assert after.outcomes[0].status == "failed" and after.outcomes[1].case.size == 65
    assert [head.state for head in store.heads()] == ["done", "crashed"]


def test_a_device_that_says_nothing_for_long_is_named_and_left_alone(app, monkeypatch):
    """Nothing can end a step that hangs; the page says what it looks like and what remains to be done."""
    runner = session.runner()
    now = replace(
        runner.snapshot,
        state=State.RUNNING,
        kind="sweep",
        current=Case("matvec", 64, "mps"),
        stage=quoted("round 2"),
        run=sweep({64: {"cpu": 1e-3}}),
        heard_at=clock.now() - 2 * live.SILENT_S,
    )
    monkeypatch.setattr(type(runner), "snapshot", property(lambda self: now))
    clean(app.run())
    (told,) = [w.value for w in app.warning if "said nothing" in w.value]
    assert "Matrix × vector, 64 on MPS has said nothing for 2 min" in told and "the device hangs" in told
    now = replace(now, heard_at=clock.now())
    clean(app.run())
    assert not any("said nothing" in w.value for w in app.warning)


def test_cases_that_failed_for_one_reason_are_one_line(app):
    lost = [(n, "mps", "Not tried. It stopped working.") for n in range(100, 110)]
    finished("sweep", sweep({64: {"cpu": 1e-5}}, failures=[(70, "mps", "command buffer failed"), *lost]))
    clean(app.run())
    told = [w.value for w in app.warning]
    assert "Matrix × vector, 100, 101, 102 and 7 more on MPS: Not tried. It stopped working." in told
    assert sum("on MPS" in text for text in told) == 2
