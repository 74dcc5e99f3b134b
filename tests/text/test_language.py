"""Indonesian beside English: no text is missing, none is left over, and numbers follow."""

import json
import re
import string

import pytest
from babel.messages.pofile import read_po
from fakes import ENVIRONMENT, sweep, trained
from test_history import POINTS, at
from texts import texts

from bench.analysis.verdicts import verdicts
from bench.machine.apple import Mac
from bench.measure import doctor
from bench.records.device import DeviceInfo
from bench.records.reason import Reason, because, quoted
from bench.records.run import Run
from bench.stats.estimate import Estimate
from bench.storage.recorded import TITLES, load_recorded
from bench.storage.recorder import summary
from bench.storage.store import open_store
from bench.storage.writing import to_json
from bench.text import language, units
from bench.text.table import to_csv
from bench.text.tell import tell
from bench.ui.parts.report import report
from bench.workloads.datasets import FILES, DataError, load

ENGLISH_WORDS = re.compile(r"\b(the|of|and|with|is|are|was|by|to|from|not|this|which|each|size|time|speed-up)\b")
KEPT = ("Diterbitkan, tidak diukur",)  # begins what quotes its source
OTHERS = [name for name in language.LANGUAGES if name != language.ENGLISH]


@pytest.fixture
def indonesian():
    language.listen(lambda: "id")
    yield
    language.listen(lambda: language.ENGLISH)


@pytest.mark.parametrize("name", OTHERS)
def test_every_text_is_translated_and_none_is_left_over(name):
    catalog = language.catalog(name)
    assert sorted(text for text in texts() if not catalog.get(text)) == []
    assert sorted(set(catalog) - texts()) == []


@pytest.mark.parametrize("name", OTHERS)
def test_translations_fill_in_the_same_names_and_keep_blanks_at_the_ends(name):
    for text, told in language.catalog(name).items():
        assert names(text) == names(told), text
        assert (text[:1].isspace(), text[-1:].isspace()) == (told[:1].isspace(), told[-1:].isspace()), text
        assert text.count("**") == told.count("**") and text.count("`") == told.count("`"), text


@pytest.mark.parametrize("name", OTHERS)
def test_no_entry_is_doubtful(name):
    with (language.FOLDER / f"{name}.po").open("rb") as file:
        assert not [message.id for message in read_po(file) if message.id and message.fuzzy]


def names(text):
    """Of the places to fill in, with their formats."""
    return sorted((name, form) for _, name, form, _ in string.Formatter().parse(text) if name is not None)


def test_numbers_and_units_follow_the_language(indonesian):
    assert units.si(1.234e-3, "s") == "1,23 ms" and units.count(16384) == "16.384"
    assert units.times(Estimate(3.9, 3.7, 4.1)) == "3,90 kali (3,70 sampai 4,10)"
    assert units.significant(1234567) == "1.230.000"


def test_a_command_speaks_english():
    assert units.si(1.234e-3, "s") == "1.23 ms" and language.translate("Stop") == "Stop"


def test_files_of_numbers_are_the_same_in_any_language_and_a_report_speaks_the_readers(indonesian):
    run = sweep(POINTS)
    here = to_csv(run), to_json(run)
    assert "Setiap kasus" in report(run)
    with language.speaking(language.ENGLISH):
        assert here == (to_csv(run), to_json(run))
        assert "Every case" in report(run)


def test_a_text_without_translation_stays_as_it_is(indonesian):
    assert language.translate("nothing like {this}", this=1) == "nothing like 1"


def said(app):
    """Whatever a page shows, but for what comes from the run and the machine."""
    for kind in ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success"):
        yield from (element.value for element in app.get(kind))
    for kind in (
        "button",
        "selectbox",
        "multiselect",
        "number_input",
        "text_input",
        "select_slider",
        "button_group",
        "toggle",
        "metric",
        "tab",
        "expander",
    ):
        for element in app.get(kind):
            yield from filter(None, (element.label, getattr(element, "help", "")))
    for frame in app.dataframe:
        yield from map(str, frame.value.columns)


def english(app):
    return [text for text in said(app) if ENGLISH_WORDS.search(text) and not text.startswith(KEPT)]


@pytest.mark.parametrize("path", ["operations", "training", "article", "history", "compare", "machine"])
def test_a_page_in_indonesian_says_nothing_in_english(indonesian, home, path):
    """What is drawn is the test: a text that was never marked shows here."""
    assert not english(at(path))


@pytest.mark.parametrize("title", TITLES.values())
def test_a_run_in_indonesian_says_nothing_in_english(indonesian, home, title):
    app = at("recorded", {"recorded": language.translate(title)})
    assert app.selectbox(key="recorded").value in TITLES and TITLES[app.selectbox(key="recorded").value] == title
    assert not english(app)


def test_runs_kept_and_compared_in_indonesian_say_nothing_in_english(indonesian, home):
    home.mkdir()
    store = open_store(home / "runs.db")
    ids = [store.add_file(sweep(POINTS), name) for name in ("satu", "dua")]
    assert not english(at("history")) and not english(at("compare", compared=ids))


def trainings(speedup):
    outcomes = [
        trained(device, s / 469, s, {"forward": (0.1,), "backward": (0.01,)})
        for device, s in (("cpu", 8.0), ("mps", 8.0 / speedup))
    ]
    return Run("training", ENVIRONMENT, {}, tuple(outcomes))


VERDICTS = [
    *[
        sweep({n: {"cpu": 1e-3, "mps": 1e-3 / s} for n, s in row.items()})
        for row in (
            {100: 0.1, 1500: 0.5, 2000: 2, 3000: 4},
            {100: 2, 200: 4},
            {100: 0.1, 2000: 0.5},
            {100: 2, 200: 0.5},
            {100: 2, 200: 0.5, 300: 2},
            {100: 2, 1200: 0.5, 1300: 2},
            {100: 1.0},
            {100: 0.5, 1000: 1.0, 1100: 1.0, 3000: 2},
        )
    ],
    *map(trainings, (4, 0.25, 1)),
    *map(load_recorded, TITLES),
]


@pytest.mark.parametrize("run", VERDICTS, ids=lambda run: run.kind)
def test_the_verdict_that_history_keeps_is_told_in_either_language(run):
    kept = summary(run)
    again = Reason.from_plain(json.loads(json.dumps(kept.plain())))
    assert again == kept == verdicts(run)[0]
    with language.speaking("id"):
        assert not ENGLISH_WORDS.search(tell(again)), "whoever recorded it"
    assert tell(again) != str(again)


def test_what_the_doctor_finds_on_a_mac_is_told_in_the_readers_language(indonesian, monkeypatch):
    """Names of its list, and lines of parts."""
    monkeypatch.setattr(doctor.sys, "platform", "darwin")
    monkeypatch.setattr(doctor, "this_mac", lambda: Mac("MacBookPro18,3", 8, 2, 16))
    monkeypatch.setattr(doctor, "power_state", lambda: ("battery", "on"))
    found = doctor._machine()
    assert tell(found.name) == "mesin" and tell(found.text).startswith(
        "MacBookPro18,3 · 8 inti performa dan 2 inti efisiensi · 16 inti GPU · "
    )
    assert tell(found.text).endswith("daya: baterai · mode hemat daya: menyala")
    gaps = (("float64", quoted("No doubles.")),)
    info = DeviceInfo("mps", "MPS", "Apple M1", usable=True, dtypes=("float32",), gaps=gaps)
    assert tell(doctor._device(info).text) == "Apple M1 · float32 · tidak float64 (No doubles)"
    assert tell(because("check_of_result", name=because("long_sums"))) == "hasil: jumlah panjang"


def test_what_is_wrong_with_images_is_told_in_the_readers_language(indonesian, tmp_path):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"")
    for name in list(FILES)[1:]:
        (tmp_path / name).write_bytes(b"xy")
    with pytest.raises(DataError) as raised:
        load(str(tmp_path))
    path = tmp_path / "train-images-idx3-ubyte"
    assert tell(raised.value.reason) == (
        f"{path} tidak dapat dipakai, kepalanya kosong, bukan kepala berkas IDX berisi gambar 28×28: "
        "ganti dengan salinan yang utuh, atau pilih “sintetis”."
    )
