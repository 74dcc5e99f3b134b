"""The runner: one job at a time, stopping, failures, waking."""

import threading

import pytest
from fakes import ENVIRONMENT, rates
from told import raises

from bench.measure.gate import Gate
from bench.measure.job import State, Stopped
from bench.measure.runner import Busy, Runner
from bench.records.device import DeviceInfo
from bench.records.reason import because, quoted
from bench.records.refusal import PlanError
from bench.records.run import Run
from bench.text.tell import tell


def make(find_devices=lambda: (rates(),)):
    return Runner(find_devices, Gate(settle=lambda: None))


@pytest.fixture
def runner():
    return make()


def wait_for(event):
    assert event.wait(10)


def test_it_sleeps_until_it_is_woken(runner):
    assert runner.snapshot.state is State.ASLEEP and not runner.snapshot.devices
    runner.wake()
    assert [d.name for d in runner.join(10).usable] == ["cpu"]
    assert runner.snapshot.state is State.IDLE


def test_a_job_asked_for_while_it_loads_runs_afterwards():
    loading, go = threading.Event(), threading.Event()

    def slowly():
        loading.set()
        wait_for(go)
        return (rates(),)

    runner = make(slowly)
    runner.wake()
    wait_for(loading)
    seen = []
    runner.start(lambda control: seen.append(list(control.devices)), "sweep")
    assert runner.snapshot.state is State.RUNNING
    go.set()
    assert runner.join(10).state is State.DONE and seen == [["cpu"]]


def test_a_second_start_is_refused_and_a_third_after_the_end_is_not(runner):
    go = threading.Event()
    runner.start(lambda control: wait_for(go), "sweep")
    with raises(Busy, match="already in progress"):
        runner.start(lambda control: None, "sweep")
    assert issubclass(Busy, RuntimeError)
    go.set()
    runner.join(10)
    runner.start(lambda control: None, "sweep")
    assert runner.join(10).state is State.DONE


def test_a_job_that_is_refused_says_so_with_its_own_reason(runner):
    why = because("nothing_left")

    def job(control):
        raise PlanError(why)

    runner.start(job, "sweep")
    snapshot = runner.join(10)
    assert snapshot.state is State.BROKEN and snapshot.error is why and "PlanError" in snapshot.details


def test_a_lost_device_stays_lost_and_says_why():
    runner = make(lambda: (DeviceInfo("cpu", "CPU", usable=True),))
    why = because("stopped_working", error=quoted("gone."))
    runner.start(lambda control: control.lose("cpu", why), "sweep")
    snapshot = runner.join(10)
    assert not snapshot.usable and snapshot.devices[0].reason is why
    assert tell(why) == "It stopped working (gone): start the program again to use it."


def test_of_eight_starts_at_once_seven_are_refused(runner):
    runner.wake()
    runner.join(10)
    go, refused = threading.Event(), []

    def press():
        try:
            runner.start(lambda control: wait_for(go), "sweep")
        except Busy:
            refused.append(1)

    presses = [threading.Thread(target=press) for _ in range(8)]
    for p in presses:
        p.start()
    for p in presses:
        p.join()
    go.set()
    runner.join(10)
    assert len(refused) == 7


def test_every_job_runs_in_the_same_thread(runner):
    threads = []
    for _ in range(3):
        runner.start(lambda control: threads.append(threading.get_ident()), "sweep")
        runner.join(10)
    assert len(set(threads)) == 1 and threads[0] != threading.get_ident()


def test_stop_ends_a_job_that_checks_and_keeps_what_it_published(runner):
    run, started = Run("sweep", ENVIRONMENT), threading.Event()

    def job(control):
        control.publish(run=run)
        started.set()
        while True:
            control.check()

    runner.start(job, "sweep")
    wait_for(started)
    runner.stop()
    assert runner.snapshot.state in (State.STOPPING, State.STOPPED)
    snapshot = runner.join(10)
    assert snapshot.state is State.STOPPED and snapshot.run is run


def test_stop_after_the_end_changes_nothing(runner):
    runner.start(lambda control: None, "sweep")
    runner.join(10)
    runner.stop()
    assert runner.snapshot.state is State.DONE
    runner.start(lambda control: control.check(), "sweep")
    assert runner.join(10).state is State.DONE, "nor does it stop the next one"


def test_a_bug_of_ours_ends_the_run_and_is_shown(runner):
    def bug(control):
        return {}["key"]

    runner.start(bug, "sweep")
    snapshot = runner.join(10)
    assert snapshot.state is State.BROKEN and "key" in tell(snapshot.error) and "KeyError" in snapshot.details
    runner.start(lambda control: None, "sweep")
    assert runner.join(10).state is State.DONE, "the next job runs all the same"


def test_without_pytorch_it_says_so_and_why():
    def broken():
        raise ImportError("libtorch.so: no such file")

    runner = make(broken)
    runner.wake()
    snapshot = runner.join(10)
    assert snapshot.state is State.BROKEN
    assert tell(snapshot.error) == "PyTorch could not be loaded: libtorch.so: no such file"


def test_the_last_job_of_each_kind_is_kept(runner):
    for kind in ("sweep", "training"):
        run = Run(kind, ENVIRONMENT)
        runner.start(lambda control, run=run: control.publish(run=run), kind)
        runner.join(10)
    assert runner.last("sweep").run.kind == "sweep"
    assert runner.last("training").run.kind == "training"
    assert runner.last("download") is None


def test_no_page_is_drawn_during_a_timed_stretch(runner):
    inside, go, overlaps = threading.Event(), threading.Event(), []

    def job(control):
        with control.timed():
            inside.set()
            go.wait(0.3)
            overlaps.append(go.is_set())

    runner.start(job, "sweep")
    wait_for(inside)
    with runner.drawing() as quiet:
        go.set()
    runner.join(10)
    assert quiet and overlaps == [False]


def test_a_stopped_job_does_not_begin_another_stretch(runner):
    def job(control):
        runner.stop()
        with pytest.raises(Stopped), control.timed():
            raise AssertionError("timed after Stop")

    runner.start(job, "sweep")
    assert runner.join(10).state is State.DONE
