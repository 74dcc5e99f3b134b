"""The recorded runs can be read, are of the machine they say, and hold what the README says of them."""

import json

import pytest
from test_app import clean
from test_history import at

from bench.analysis import article_clocks
from bench.records.reason import TEXT
from bench.storage.reading import SCHEMA_VERSION
from bench.storage.recorded import FOLDER, TITLES, load_recorded
from bench.text.language import speaking
from bench.text.tell import tell
from bench.ui.parts import session


def test_every_file_has_a_title_and_every_title_a_file():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(TITLES)


@pytest.mark.parametrize("name", TITLES)
def test_a_recorded_run_is_real_and_nobody_can_be_found_by_it(name):
    run = load_recorded(name)
    assert not run.emulated and "NVIDIA H200" in run.environment.devices.values()
    assert run.environment.captured_at.startswith("2026-12-01") and run.environment.torch.startswith("2.11")
    assert not run.environment.variables and "fc" not in run.environment.platform
    assert run.measurements and not run.failures and all(m.samples_s for m in run.measurements)


@pytest.mark.parametrize("name", TITLES)
def test_a_recorded_run_keeps_reasons_as_values_which_read_in_either_language(name):
    assert json.loads((FOLDER / f"{name}.json").read_bytes())["schema_version"] == SCHEMA_VERSION
    for m in load_recorded(name).measurements:
        for why in filter(None, (m.reason, *m.flags, m.check and m.check.reason)):
            with speaking("id"):
                translated = tell(why)
            assert why.kind != TEXT and translated != tell(why) != str(why)


def test_the_replay_holds_what_is_said_of_it():
    said = " ".join(map(tell, article_clocks.of_replay(load_recorded("h200-article-replayed"))))
    assert "Training ConvNet: by the article's clock CUDA is 50.3 times as fast as the CPU, by the wall 3.38" in said
    assert "16.0 times the true time, since it adds up all threads" in said


@pytest.mark.parametrize("name", TITLES)
def test_the_page_shows_each_and_says_that_it_was_recorded_elsewhere(name, home):
    app = at("recorded", recorded=name)
    assert "Recorded elsewhere, not measured on this machine" in app.info[0].value
    assert "NVIDIA H200" in app.info[0].value and app.get("plotly_chart")
    clean(app.button[0].click().run())
    assert session.kept().store.heads()[0].name == TITLES[name]
