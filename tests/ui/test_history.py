"""The History and Compare pages, through their own widgets."""

from dataclasses import replace

import pytest
from fakes import ENVIRONMENT, sweep
from streamlit.testing.v1 import AppTest
from test_app import clean

from bench.records.reason import quoted
from bench.storage.recorder import summary
from bench.storage.store import open_store
from bench.storage.writing import to_json

POINTS = {64: {"cpu": 1e-5, "mps": 1e-4}, 512: {"cpu": 1e-4, "mps": 1e-4}, 3000: {"cpu": 1e-3, "mps": 1e-4}}


@pytest.fixture
def store(home):
    return open_store(home / "runs.db")


def at(path, query=None, **state):
    """The page alone, as the app shows it."""

    def script(path):
        import importlib

        importlib.import_module(f"bench.ui.pages.{path}").show()

    app = AppTest.from_function(script, default_timeout=60, kwargs={"path": path})
    for key, value in state.items():
        app.session_state[key] = value
    for key, value in (query or {}).items():
        app.query_params[key] = value
    return clean(app.run())


def test_an_empty_history_says_what_to_do(store):
    assert "There is no run yet" in at("history").info[0].value


def test_runs_are_listed_and_found_by_their_words(store):
    store.add_file(sweep(POINTS), "laptop", summary(sweep(POINTS)))
    store.add_file(sweep(POINTS, environment=replace(ENVIRONMENT, chip="Apple M4")), "desk", quoted("Use it."))
    app = at("history")
    assert set(app.dataframe[0].value["name"]) == {"laptop", "desk"}
    clean(app.text_input(key="search").set_value("m4").run())
    assert list(app.dataframe[0].value["name"]) == ["desk"]
    clean(app.text_input(key="search").set_value("laptop").run())
    verdict = app.dataframe[0].value["verdict"][0]
    clean(app.text_input(key="search").set_value(f"laptop {verdict.split()[0]} {verdict.split()[-1]}").run())
    assert list(app.dataframe[0].value["name"]) == ["laptop"], "the verdict is searched as it is read"
    clean(app.text_input(key="search").set_value("nothing like it").run())
    assert "No run has all of these words." in app.info[0].value


def test_a_run_in_the_address_is_opened_with_its_verdict(store):
    run_id = store.add_file(sweep(POINTS), "laptop")
    app = at("history", query={"open": run_id})
    assert any("use the CPU, above it MPS" in s.value for s in app.subheader)
    app.query_params["open"] = "gone"
    clean(app.run())
    assert "no longer in the store" in app.error[0].value


def test_two_runs_are_compared_with_what_differs_first(store):
    first = store.add_file(sweep(POINTS), "before")
    slow = {n: {d: 1.5 * s for d, s in row.items()} for n, row in POINTS.items()}
    second = store.add_file(sweep(slow, environment=replace(ENVIRONMENT, torch="2.15.0")), "after")
    app = at("compare", compared=[first, second])
    (verdict,) = [s.value for s in app.subheader]
    assert "slower than the first run overall: 0.667 times" in verdict and "of 6 common cases 6 slower" in verdict
    differences, pairs = (frame.value for frame in app.dataframe)
    assert differences.values.tolist() == [["PyTorch", "2.9.0", "2.15.0"]]
    assert set(pairs["verdict"]) == {"slower"} and len(pairs) == 6


def test_one_run_is_not_enough_to_compare(store):
    store.add_file(sweep(POINTS), "alone")
    assert "Two runs are needed" in at("compare").info[0].value


def test_a_file_comes_back_as_it_was(store):
    run = sweep(POINTS)
    run_id = store.add_file(run, "x")
    assert to_json(store.load(run_id)) == to_json(run)


def test_what_was_measured_twice_last_is_compared_at_once(store):
    """The earlier one first; a run of something else beside them is left out, and can be added."""
    days = {"old": 1, "before": 2, "other": 3, "after": 4, "last": 5}
    ids = {}
    for name, day in days.items():
        run = sweep(POINTS, environment=replace(ENVIRONMENT, captured_at=f"2026-11-0{day}T08:00:00+00:00"))
        if name in ("other", "last"):
            run = replace(run, settings=run.settings | {"operation": {"other": "sum", "last": "copy"}[name]})
        ids[name] = store.add_file(run, name)
    app = at("compare")
    lists = [app.selectbox(key=f"run{number}") for number in (1, 2, 3)]
    assert [one.value for one in lists] == [ids["before"], ids["after"], None]
    assert len(app.subheader) == 1 and "equally fast overall" in app.subheader[0].value
    assert len(lists[1].options) == len(days) - 1  # a run is not compared with itself
    clean(lists[0].set_value(ids["after"]).run())  # which the second one held
    assert app.selectbox(key="run1").value == ids["after"] and app.selectbox(key="run2").value != ids["after"]
    clean(app.selectbox(key="run1").set_value(ids["before"]).run())
    clean(app.selectbox(key="run2").set_value(ids["after"]).run())
    clean(app.selectbox(key="run3").set_value(ids["old"]).run())
    assert len(app.subheader) == 2 and len(app.selectbox) == 4
    clean(app.selectbox(key="run3").set_value(None).run())
    assert len(app.subheader) == 1


def test_runs_that_are_no_longer_there_are_left_out_and_no_others_take_their_place(store):
    """The first of those that are left is the reference."""
    first, second, _ = (store.add_file(sweep(POINTS), name) for name in ("one", "two", "three"))
    app = at("compare", compared=["gone", second, first])
    assert [one.value for one in app.selectbox] == [second, first, None]
    app = at("compare", compared=["gone", "gone too"])
    assert [one.value for one in app.selectbox] == [None, None]
    assert "Choose at least two runs" in app.info[0].value


def test_runs_of_different_things_wait_to_be_chosen(store):
    store.add_file(sweep(POINTS), "one")
    store.add_file(replace(sweep(POINTS), settings=sweep(POINTS).settings | {"operation": "sum"}), "two")
    app = at("compare")
    assert [one.value for one in app.selectbox] == [None, None]
    assert "Choose at least two runs" in app.info[0].value
