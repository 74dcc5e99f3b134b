"""What the doctor tries on an accelerator: it finds what is right, and what is wrong."""

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from emulator import run_emulated
from fakes import ENVIRONMENT, Calm, Watcher

from bench.cli.main import main
from bench.machine.devices import Device
from bench.measure import device_checks, disturbance
from bench.measure.device_checks import check_here, check_up
from bench.measure.discovery import find_devices
from bench.measure.disturbance import slowdown_beside_a_page
from bench.measure.doubtful_results import DOUBTFUL
from bench.measure.job import Stopped
from bench.records.checkup import Checkup, Verdict
from bench.records.reason import because
from bench.stats.estimate import Estimate
from bench.text.evidence import to_send
from bench.text.language import speaking
from bench.text.tell import tell


@pytest.fixture(scope="module")
def verdicts():
    """The CPU is checked as if it were an accelerator: what it computes is right. The page has a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_checks, "_page", lambda device: (True, because("nothing")))
        return {tell(verdict.name): verdict for verdict in check_up(Device("cpu"), {})}


def test_results_that_are_right_are_called_right(verdicts):
    results = [verdict for name, verdict in verdicts.items() if name.startswith("result")]
    assert len(results) == 7 and all(verdict.good for verdict in results), results
    assert verdicts["two threads"].good and verdicts["number formats"].good


def test_what_the_device_has_not_is_no_word_and_costs_nothing(verdicts):
    assert verdicts["events"].good is None and "no events" in tell(verdicts["events"].text)


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_a_wrong_result_is_called_wrong(kind):
    def spoilt(draw):
        out = DOUBTFUL[kind](draw)
        if out.dtype == torch.float32:
            out = out + 0.1 * out.abs().max()
        return out

    good, text = device_checks._result(Device("cpu"), spoilt)
    assert not good and "off by 10" in tell(text)


def test_a_clock_that_disagrees_and_a_wait_that_does_not_wait_are_bad(monkeypatch):
    device = Device("cpu")
    monkeypatch.setattr(device, "seconds_by_events", lambda step, calls: 1.0)
    assert not device_checks._events(device)[0]


def test_a_crash_of_two_threads_is_told_and_survived(monkeypatch):
    monkeypatch.setattr(device_checks, "TWO_THREADS", "import os; os.abort()")
    good, text = device_checks._two_threads(Device("cpu"))
    assert not good and "code -6" in tell(text)


@pytest.mark.alone
def test_a_page_that_does_not_wait_would_be_found_and_ours_is_not():
    """Beside a thread that redraws without asking, calls read twice as long; through the gate they do not."""
    good, text = device_checks._page(Device("cpu"))
    assert good is not False, tell(text)  # a busy machine may leave it open

    def disturbs(found):
        return found.low > 1 + device_checks.DISTURBS

    assert disturbs(slowdown_beside_a_page(Device("cpu"), Rude(), device_checks._step(Device("cpu"), 256), disturbs))


class Rude(Calm):
    """A gate that lets everybody through at once."""

    def drawing(self):
        return nullcontext()


def test_a_page_that_disturbs_is_bad(monkeypatch):
    monkeypatch.setattr(device_checks, "slowdown_beside_a_page", lambda *arguments: Estimate(1.2, 1.1, 1.3))
    good, text = device_checks._page(Device("cpu"))
    assert good is False
    assert tell(text) == "beside a page that redraws all the time a call takes 1.20 times (1.10 to 1.30) as long"


def test_where_the_interval_says_nothing_neither_does_the_check(monkeypatch):
    """As on a busy machine: 0.69 to 1.48 holds "no slower" and "half as slow again"."""
    monkeypatch.setattr(device_checks, "slowdown_beside_a_page", lambda *arguments: Estimate(1.06, 0.69, 1.48))
    good, text = device_checks._page(Device("cpu"))
    assert good is None and tell(text).endswith("too uncertain to tell; try again on a quiet machine")


def test_it_goes_on_until_it_can_tell_and_not_for_ever(monkeypatch):
    noise = iter([1.0, 1.5, 0.7, 1.4, 0.8, 1.3] * 2)  # twelve rounds that wander, then quiet ones
    monkeypatch.setattr(disturbance, "_round", lambda *arguments: [next(noise, 1.0)] * 6)
    rounds = []
    found = slowdown_beside_a_page(
        Device("cpu"), Rude(), lambda: None, lambda found: bool(rounds.append(found) or found.high < 1.2)
    )
    assert found.high < 1.2 and 1 < len(rounds) <= disturbance.MOST_ROUNDS - disturbance.ROUNDS
    rounds.clear()
    slowdown_beside_a_page(Device("cpu"), Rude(), lambda: None, lambda found: bool(rounds.append(found)))
    assert len(rounds) == disturbance.MOST_ROUNDS - disturbance.ROUNDS + 1


def test_without_an_accelerator_it_says_so_and_out_needs_check(capsys, tmp_path):
    if len([device for device in find_devices() if device.usable]) == 1:
        assert main(["doctor", "--check", "--out", str(tmp_path / "check.json")]) == 0
        assert "No accelerator here" in capsys.readouterr().out
        assert json.loads((tmp_path / "check.json").read_text())["checks"] == []
    assert main(["doctor", "--out", str(tmp_path / "x.json")]) == 2
    assert "--check" in capsys.readouterr().err


def test_of_the_emulated_device_what_is_wrong_is_found_and_the_rest_passes(tmp_path):
    """Through the command; the fault makes every sum wrong."""
    script = tmp_path / "check.py"  # one round of the page's check is enough to see that it is made
    script.write_text(
        "import os, sys\n"
        "from bench.cli.main import main\n"
        "from bench.measure import disturbance\n"
        "disturbance.ROUNDS = disturbance.MOST_ROUNDS = 1\n"
        "code = main(['doctor', '--check'])\n"
        "sys.stdout.flush()\n"
        "os._exit(code)\n"
    )
    done = run_emulated(script, environment={"BENCH_HOME": str(tmp_path / "home")}, wrong_ops="sum", wrong_error=0.05)
    lines = {line[8:].split("  ")[0].strip(): line[:3] for line in done.stdout.splitlines() if "result: " in line}
    assert done.returncode == 1 and "MPS (emulated)" in done.stdout
    assert lines.pop("result: long sums") == "BAD"
    assert set(lines.values()) == {"ok "}, done.stdout
    assert done.stdout.count("beside a page that redraws") == 2  # the CPU and the device


def test_as_a_job_of_the_page_it_publishes_what_it_finds_and_stop_is_heard(monkeypatch):
    monkeypatch.setattr(device_checks, "slowdown_beside_a_page", lambda *arguments: Estimate(1.0, 0.9, 1.1))
    monkeypatch.setattr(device_checks, "IDLE_S", 0.1)
    found = {info.name: info for info in find_devices() if info.usable}
    watcher = Watcher(found | {"again": replace(found["cpu"], name="cpu#2", label="CPU again")})
    check_here(watcher)
    (found_out,) = watcher.published[-1]["findings"]
    assert {tell(verdict.name) for verdict in found_out.checks} >= {"waiting", "two threads", "result: into a view"}
    watcher.stop.set()
    with pytest.raises(Stopped):
        check_here(watcher)


def test_the_file_to_send_has_each_finding_in_english_and_as_a_value():
    """It goes to people who may not read the language of whoever made it."""
    slowdown = because("check_page", times=Estimate(1.0, 0.9, 1.1))
    findings = (
        Verdict("mps", because("page"), True, slowdown),
        Verdict("mps", because("events"), None, because("no_events")),
    )
    with speaking("id"):
        assert (
            tell(slowdown) != "beside a page that redraws all the time a call takes 1.00 times (0.900 to 1.10) as long"
        )
        sent = json.loads(to_send(Checkup(ENVIRONMENT, findings)))
    page, events = sent["checks"]
    assert page["text"] == "beside a page that redraws all the time a call takes 1.00 times (0.900 to 1.10) as long"
    assert page["reason"] == {"kind": "check_page", "times": {"value": 1.0, "low": 0.9, "high": 1.1}}
    assert events["name"] == "events" and events["good"] is None and events["text"] == "This device has no events."
    assert sent["environment"]["chip"] == ENVIRONMENT.chip
