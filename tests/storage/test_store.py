"""Runs on disk: nothing committed is lost, nothing damaged is written over, and nobody measures beside another."""

import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import ENVIRONMENT, measurement, sweep, trained
from told import raises

from bench.records.case import Case
from bench.records.measurement import Failure
from bench.records.reason import Quantity, because, quoted
from bench.records.run import Run
from bench.storage import database, store
from bench.storage.database import StoreError
from bench.storage.reading import from_json
from bench.storage.store import CRASHED, DONE, RUNNING, open_store
from bench.text.language import speaking
from bench.text.tell import tell

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("BENCH_KILLS", "6"))  # the long form: 50
POINTS = {256: {"cpu": 1e-5, "mps": 3e-5}, 1024: {"cpu": 2e-4, "mps": 4e-5}}


@pytest.fixture
def here(tmp_path):
    return open_store(tmp_path / "runs.db")


def kept(here, run, **more):
    run_id = here.begin(replace(run, outcomes=()), [o.case for o in run.outcomes])
    here.add(run_id, *run.outcomes)
    here.end(run_id, DONE, **more)
    return run_id


def test_what_is_kept_comes_back(here):
    run = sweep(POINTS, failures=[(8192, "mps", "MPS backend out of memory")])
    run_id = kept(here, run, summary=quoted("Use the CPU."))
    assert here.load(run_id) == run
    (head,) = here.heads()
    assert (head.id, head.state, head.planned, head.outcomes, head.failures) == (run_id, DONE, 5, 5, 1)
    assert (head.what, head.chip, head.devices, head.summary) == (
        "matvec",
        "Apple M1 Pro",
        "CPU, MPS",
        quoted("Use the CPU."),
    )
    assert head.emulated is False and head.case is None
    assert open_store(here.path).load(run_id) == run


def test_a_run_that_a_crash_ended_says_at_which_case_and_keeps_the_rest(here):
    run = sweep(POINTS)
    run_id = here.begin(replace(run, outcomes=()), [o.case for o in run.outcomes])
    here.add(run_id, run.outcomes[0])
    killer = run.outcomes[1].case
    here.about_to(run_id, killer, quoted("first call and warm-up"))
    after = open_store(here.path)
    (found,) = after.unfinished()
    assert (found.case, found.stage, found.outcomes, found.planned) == (killer, quoted("first call and warm-up"), 1, 4)
    for _ in range(2):
        after.recover(run_id)
        first, failure = after.load(run_id).outcomes
        assert first == run.outcomes[0] and failure == Failure(killer, store.KILLED)
        assert after.heads()[0].state == CRASHED and not after.unfinished()


def test_a_case_that_has_its_outcome_killed_nobody(here):
    run = sweep(POINTS)
    run_id = here.begin(replace(run, outcomes=()))
    here.about_to(run_id, run.outcomes[0].case)
    here.add(run_id, run.outcomes[0])
    here.recover(run_id)
    assert here.load(run_id).outcomes == run.outcomes[:1]


def test_search_finds_every_word_and_takes_wildcards_literally(here):
    one, two = kept(here, sweep(POINTS)), kept(here, Run("training", ENVIRONMENT, {"networks": ["mlp"]}))
    here.rename(one, "  100 % sure ")
    here.annotate(two, "on the balcony")
    for text, found in (
        ("MATVEC", [one]),
        ("balcony MLP", [two]),
        ("100 %", [one]),
        ("%", [one]),
        ("_", []),
        ("apple", [two, one]),
        ("2026-01-01 m1", [two, one]),
        ("nothing", []),
        ("'; DROP TABLE runs; --", []),
    ):
        assert [head.id for head in here.heads(text)] == found, text


def test_search_finds_a_verdict_in_the_words_of_whoever_reads_it(here):
    won = because("not_tried", reason=because("stopped_working", error="x"))
    one, two = kept(here, sweep(POINTS), summary=won), kept(here, sweep(POINTS), summary=quoted("Use the CPU."))
    said = tell(won).split()[0]
    assert [head.id for head in here.heads(said, tell=tell)] == [one]
    assert [head.id for head in here.heads("use cpu.", tell=tell)] == [two]
    assert not here.heads("kind", tell=tell) and not here.heads(said), "how it is kept is nobody's word"
    with speaking("id"):
        assert tell(won) != said and [head.id for head in here.heads(tell(won)[:10], tell=tell)] == [one]


def test_deleting_can_be_undone_until_it_is_made_final(here):
    one, two = kept(here, sweep(POINTS)), kept(here, sweep(POINTS))
    here.delete(one)
    assert [h.id for h in here.heads()] == [two] and [h.id for h in here.heads(deleted=True)] == [one]
    here.restore(one)
    assert len(here.heads()) == 2
    here.delete(one)
    assert here.purge() == 1 and not here.heads(deleted=True)
    with raises(StoreError, match="no longer in the store"):
        here.load(one)
    with sqlite3.connect(here.path) as db:
        assert db.execute("SELECT count(DISTINCT run) FROM outcomes").fetchone() == (1,)


def test_a_run_asked_for_again_is_the_same_one_until_it_has_changed(here):
    """A page asks at every turn; reading two hundred sizes of four devices anew took most of a second."""
    run = sweep({64: {"cpu": 1e-3}})
    run_id = here.add_file(run, "one")
    first = here.load(run_id)
    assert here.load(run_id) is first == run
    here.add(run_id, measurement("cpu", 128, 2e-3))
    assert [m.case.size for m in here.load(run_id).measurements] == [64, 128]


def test_a_list_reads_no_samples(here):
    """What makes ten thousand runs quick to list."""
    with sqlite3.connect(here.path) as db:
        plan = str(
            db.execute(
                f"EXPLAIN QUERY PLAN SELECT {store.COLUMNS} FROM runs WHERE deleted = 0 ORDER BY "
                "captured_at DESC, rowid DESC"
            ).fetchall()
        )
    assert "runs_by_time" in plan and "outcomes" not in plan.replace("outcomes,", "")
    assert "head" not in store.COLUMNS.split(", ")


def test_a_newer_version_is_refused_and_left_as_it_is(here):
    with sqlite3.connect(here.path) as db:
        db.execute("PRAGMA user_version = 99")
    here.close()
    before = here.path.read_bytes()
    with raises(StoreError, match="newer version"):
        open_store(here.path)
    assert here.path.read_bytes() == before and not list(here.path.parent.glob("*damaged*"))


def test_an_older_version_is_brought_up_to_date(here, monkeypatch):
    run_id = kept(here, sweep(POINTS))
    monkeypatch.setattr(store, "MIGRATIONS", (*store.MIGRATIONS, "ALTER TABLE runs ADD COLUMN mood TEXT DEFAULT 'ok';"))
    after = open_store(here.path)
    assert after.load(run_id) == sweep(POINTS)
    with sqlite3.connect(here.path) as db:
        assert db.execute("SELECT mood FROM runs").fetchone() == ("ok",)
        assert db.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_migration_that_fails_changes_nothing(here, monkeypatch):
    run_id = kept(here, sweep(POINTS))
    bad = "ALTER TABLE runs ADD COLUMN mood TEXT; INSERT INTO nowhere VALUES (1);"
    with monkeypatch.context() as changed:
        changed.setattr(store, "MIGRATIONS", (*store.MIGRATIONS, bad))
        with raises(StoreError):
            open_store(here.path)
    assert open_store(here.path).load(run_id) == sweep(POINTS)


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"SQLite format 3\0" + bytes(200), b"\0" * 8192])
def test_what_is_no_database_is_set_aside_and_named(tmp_path, content):
    path = tmp_path / "runs.db"
    path.write_bytes(content)
    opened = open_store(path)
    assert opened.load(kept(opened, sweep(POINTS))) == sweep(POINTS)
    aside = list(tmp_path.glob("runs.damaged-*.db"))
    if content == b"":  # an empty file is an empty database
        assert not aside and not opened.notices
    else:
        assert [one.read_bytes() for one in aside] == [content]
        assert aside[0].name in tell(opened.notices[0])


def test_another_programs_database_is_set_aside(tmp_path):
    path = tmp_path / "runs.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE runs (recipe TEXT)")
        db.execute("INSERT INTO runs VALUES ('soup')")
    assert "another program's" in tell(open_store(path).notices[0])
    with sqlite3.connect(next(tmp_path.glob("*damaged*"))) as db:
        assert db.execute("SELECT * FROM runs").fetchall() == [("soup",)]


def test_a_file_with_flipped_bytes_is_read_or_set_aside_never_a_crash(tmp_path):
    whole = open_store(tmp_path / "whole.db")
    run_ids = [kept(whole, sweep(POINTS)) for _ in range(3)]
    whole.close()
    content, rng = whole.path.read_bytes(), random.Random(4)
    ends = {"set aside": 0, "told": 0, "read": 0}
    for number in range(60):
        spoilt = bytearray(content)
        for _ in range(rng.choice((1, 1, 5, 200))):
            spoilt[rng.randrange(100 if number % 4 == 0 else len(spoilt))] = rng.randrange(256)
        if number % 10 == 9:
            del spoilt[rng.randrange(len(spoilt)) :]
        path = tmp_path / f"{number}.db"
        path.write_bytes(spoilt)
        try:
            opened = open_store(path)
            heads = opened.heads()
            if opened.notices:
                assert list(tmp_path.glob(f"{number}.damaged-*")), "nothing is written over"
                ends["set aside"] += 1
                continue
            assert len(heads) == 3
            for run_id in run_ids:
                opened.load(run_id)
            ends["read"] += 1
        except StoreError as error:
            assert "\n" not in tell(error.reason)
            ends["told"] += 1
    assert min(ends.values()) > 0, ends


def test_a_row_that_cannot_be_read_is_named_and_the_other_runs_are_read(here):
    one, two = kept(here, sweep(POINTS)), kept(here, sweep(POINTS))
    with sqlite3.connect(here.path) as db:
        db.execute(
            "UPDATE outcomes SET entry = replace(entry, 'samples_s', 'sample_s') WHERE run = ? AND number = 2", [one]
        )
    with raises(StoreError, match="row 2"):
        here.load(one)
    assert here.load(two) == sweep(POINTS)


def test_what_an_older_version_kept_is_read_and_its_sentences_stand_for_themselves(here):
    """Its heads and entries are of schema 1, and its list holds sentences."""
    text = (ROOT / "tests" / "files" / "version-1.json").read_text(encoding="utf-8")
    data = json.loads(text)
    run_id = kept(here, from_json(text))
    with sqlite3.connect(here.path) as db:
        head = {name: value for name, value in data.items() if name != "results"}
        db.execute("UPDATE runs SET head = ?, summary = 'Use it.', error = '{no JSON', stage = 3", [json.dumps(head)])
        for number, entry in enumerate(data["results"], 1):
            db.execute("UPDATE outcomes SET entry = ? WHERE number = ?", [json.dumps(entry), number])
    assert here.load(run_id) == from_json(text)
    (found,) = here.heads()
    assert (found.summary, found.error, found.stage) == (quoted("Use it."), quoted("{no JSON"), quoted("3"))
    here.add(run_id, measurement("cuda", 64, 1e-3))  # entries of both versions in one run
    assert here.load(run_id).outcomes[:-1] == from_json(text).outcomes


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"kind": 3}',
        '{"kind": "x", "y": {"z": 1}}',
        '{"kind": "x", "y": null}',
        "{" + '"a":{' * 100_000,
        "[1]",
        '{"kind": "x", "y": {"value": ' + "9" * 400 + ', "unit": "s"}}',
    ],
)
def test_a_reason_in_the_list_that_is_none_is_shown_as_it_stands(here, text):
    kept(here, sweep(POINTS), summary=quoted("Use it."))
    with sqlite3.connect(here.path) as db:
        db.execute("UPDATE runs SET summary = ?", [text])
    (head,) = here.heads("m1", tell=tell)
    assert head.summary == quoted(text)


def test_reasons_in_the_list_come_back(here):
    why = because("no_memory", need=Quantity(math.inf, "B"), inner=because("nothing"), words="half \udc80 a letter")
    run_id = here.begin(sweep(POINTS), name="half \udc80")
    here.about_to(run_id, Case("matvec", 64, "cpu"), why)
    (head,) = here.heads()
    assert head.stage == because(
        "no_memory", need=Quantity(math.inf, "B"), inner=because("nothing"), words="half ? a letter"
    )
    here.rename(run_id, "\udc80")
    here.end(run_id, DONE, error=why, summary=why)
    (head,) = here.heads()
    assert head.name == "?" and head.error == head.summary and head.stage is None


def test_a_loss_that_is_no_number_is_kept(here):
    outcome = trained("cpu", 0.01, 1.0, {"forward": (0.1,)})
    outcome = replace(outcome, learning=replace(outcome.learning, losses=((128, math.nan),), train_loss=math.nan))
    run_id = here.begin(Run("training", ENVIRONMENT, {"networks": ["convnet"], "data": "x", "images": 128}))
    here.add(run_id, outcome)
    (back,) = here.load(run_id).measurements
    assert math.isnan(back.learning.losses[0][1]) and back.learning.train_loss is None


def test_a_full_disk_is_a_sentence_and_later_it_goes_on(here, monkeypatch):
    run = sweep({n: {"cpu": 1e-5, "mps": 3e-5} for n in range(100, 140)})
    run_id = here.begin(run)
    connect = sqlite3.connect

    def small(*arguments, **more):
        db = connect(*arguments, **more)
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    with monkeypatch.context() as full:
        full.setattr(database.sqlite3, "connect", small)
        with raises(StoreError, match="is full: make room"):
            here.add(run_id, *run.outcomes)
    assert here.load(run_id).outcomes == ()
    here.add(run_id, *run.outcomes)
    assert here.load(run_id) == run


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with raises(StoreError, match="can't be made"):
        open_store(tmp_path / "file" / "runs.db")


def test_a_file_that_cannot_be_written_is_told(here, monkeypatch):
    """As the system user every file can be written, so SQLite itself is told to refuse."""
    connect = sqlite3.connect

    def reading(*arguments, **more):
        db = connect(*arguments, **more)
        db.execute("PRAGMA query_only = ON")
        return db

    monkeypatch.setattr(database.sqlite3, "connect", reading)
    with raises(StoreError, match="can't be written: make it writable, or set BENCH_HOME"):
        here.begin(sweep(POINTS))


CHILD = """
import sys
from dataclasses import replace
from pathlib import Path
from bench.storage.store import open_store
from bench.records.reason import quoted
from fakes import measurement, sweep
run = replace(sweep({64: {"cpu": 1.0}}), outcomes=())
with (store := open_store(Path(sys.argv[1]))).claim():
    run_id = store.begin(run, [])
    print("begun", run_id, flush=True)
    for n in range(int(sys.argv[2])):
        outcome = measurement("cpu", n + 16, 1e-3)
        store.about_to(run_id, outcome.case, quoted("round 1"), durable=n % 2 == 0)
        store.add(run_id, outcome)
        print("kept", n + 16, flush=True)
    sys.stdin.read()
"""


def child(path, how_many):
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(how_many)],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_nothing_committed_is_lost_when_the_program_is_killed(tmp_path):
    """At random moments; what the program had said to be kept is there, and the store opens each time."""
    rng, path = random.Random(5), tmp_path / "runs.db"
    for _ in range(KILLS):
        process = child(path, 10_000)
        run_id = process.stdout.readline().split()[1]
        time.sleep(rng.uniform(0.0, 0.6))
        process.send_signal(signal.SIGKILL)
        said = [int(line.split()[1]) for line in process.stdout.read().splitlines() if line.startswith("kept ")]
        process.wait()
        after = open_store(path)
        assert not after.notices
        (found,) = after.unfinished()
        assert found.id == run_id
        after.recover(run_id)
        sizes = [m.case.size for m in after.load(run_id).measurements]
        assert sizes[: len(said)] == said and len(sizes) <= len(said) + 1
        after.close()
    assert len(open_store(path).heads()) == KILLS


def test_while_one_process_measures_another_is_refused_and_finds_no_crash(tmp_path):
    path = tmp_path / "runs.db"
    process = child(path, 3)
    for _ in range(4):
        process.stdout.readline()
    beside = open_store(path)
    with raises(StoreError, match=rf"process {process.pid}\) is measuring"), beside.claim():
        pass
    assert not beside.unfinished() and beside.heads()[0].state == RUNNING
    run_id = kept(beside, sweep(POINTS))  # reading and writing go on
    process.kill()
    process.wait()
    with beside.claim():
        pass
    assert len(beside.unfinished()) == 1 and beside.load(run_id) == sweep(POINTS)


def test_a_list_can_be_read_while_a_run_is_written(here):
    run, faults, stop = sweep(POINTS), [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                for head in here.heads():
                    assert len(here.load(head.id).outcomes) >= 0
            except Exception as error:
                faults.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(15):
        kept(here, run)
    stop.set()
    for reader in readers:
        reader.join()
    assert not faults and len(here.heads()) == 15


def test_a_run_from_a_file_is_marked_as_such(here):
    run_id = here.add_file(sweep(POINTS), "friend.json")
    (head,) = here.heads()
    assert (head.origin, head.name, head.state) == ("file", "friend.json", DONE) and here.load(run_id) == sweep(POINTS)


def test_cases_keep_their_identity(here):
    case = Case("matvec", 64, "mps#2", "float32")
    run_id = here.begin(sweep(POINTS))
    here.about_to(run_id, case)
    assert here.heads()[0].case == case
    assert json.loads(here.heads()[0].current)["device"] == "mps#2"
    assert measurement("cpu", 64, 1.0).case != case
