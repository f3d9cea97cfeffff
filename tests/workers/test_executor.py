"""The Ray executor: all jobs once, a killed actor's job again, and no process left whatever ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from owner import Owner

from workers import spool
from workers.worker import EXIT_INTERRUPTED, EXIT_SERVER_GONE

pytestmark = pytest.mark.slow
MARK = "SEXTANT_TEST_EXECUTOR"

# Runs the executor as its own process with an evaluation that takes no training: job n sleeps, then scores n; job 13
# kills its actor the first time.
PROGRAM = """
import os, sys, time
from workers import executor

def evaluation(job):
    from designspace.job import Progress, Result
    for step in (1, 2):
        time.sleep({seconds})
        yield Progress(step=step, steps=2, loss=1.0, tokens=step, seconds=0.0)
        if job.id == 13 and job.attempt == 1:
            os.kill(os.getpid(), 9)
    facts = {{"pid": str(os.getpid()), "threads": str(__import__("torch").get_num_threads())}}
    return Result(job_id=job.id, attempt=job.attempt, status="done", metrics={{"accuracy": job.id}}, provenance=facts)

executor._default_evaluation = lambda: evaluation
run = executor.run_executor
executor.run_executor = lambda client, **options: run(client, **options, evaluation=evaluation)
sys.exit(executor.main(sys.argv[1:]))
"""


def start(url: str, folder: Path, *, seconds: float = 0.05, patience: float = 5.0) -> subprocess.Popen:
    arguments = [url, "--spool", str(folder), "--workers", "2", "--patience", str(patience)]
    program = PROGRAM.format(seconds=seconds)
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | {MARK: str(folder)},
        start_new_session=True,
    )


def descendants(folder: Path) -> list[str]:
    """What lives of the executor started for `folder`: every process inherits its mark.

    Ray's two agents are left out: after kill -9 of a driver they notice within a minute, and they hold no job.
    """
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"{MARK}={folder}" in (process / "environ").read_text().split("\0")
            command = (process / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if marked and command and "Agent" not in command:
            found.append(command)
    return found


@pytest.fixture(autouse=True)
def no_process_is_left(tmp_path):
    """Fails a test that leaves a process of its executor behind."""
    yield
    deadline = time.monotonic() + 15
    while descendants(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert descendants(tmp_path) == []


def wait_for(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def test_every_job_is_done_once_on_persistent_single_threaded_actors(tmp_path):
    owner = Owner(jobs=12)
    with owner.listening() as url:
        assert start(url, tmp_path).wait(90) == 0
    assert sorted(result["job_id"] for result in owner.deliveries) == list(range(1, 13))
    facts = [result["provenance"] for result in owner.deliveries]
    assert len({fact["pid"] for fact in facts}) == 2
    assert {fact["threads"] for fact in facts} == {"1"}
    assert list(tmp_path.iterdir()) == []


def test_the_job_of_a_killed_actor_is_lost_and_done_again_by_its_successor(tmp_path):
    owner = Owner(jobs=14)
    with owner.listening() as url:
        assert start(url, tmp_path).wait(90) == 0
    statuses = [(result["status"], result["attempt"]) for result in owner.deliveries if result["job_id"] == 13]
    assert statuses == [("lost", 1), ("done", 2)]
    assert sum(result["status"] == "done" for result in owner.deliveries) == 14


def test_sigterm_gives_running_jobs_back_and_ends_everything(tmp_path):
    owner = Owner(jobs=2)
    with owner.listening() as url:
        process = start(url, tmp_path, seconds=60)
        wait_for(lambda: any(len(beat["jobs"]) == 2 for beat in owner.beats))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == EXIT_INTERRUPTED
    assert sorted((result["job_id"], result["status"]) for result in owner.deliveries) == [
        (1, "cancelled"),
        (2, "cancelled"),
    ]


def test_kill_9_leaves_no_process(tmp_path):
    owner = Owner(jobs=2)
    with owner.listening() as url:
        process = start(url, tmp_path, seconds=60)
        wait_for(lambda: owner.beats)
        assert any("raylet" in command for command in descendants(tmp_path))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL


def test_a_server_that_vanishes_ends_the_executor_and_results_wait(tmp_path):
    owner = Owner(jobs=2)
    with owner.listening() as url:
        process = start(url, tmp_path, seconds=3, patience=2)
        wait_for(lambda: owner.beats)
    assert process.wait(30) == EXIT_SERVER_GONE
    assert {result.status for result in spool.read(tmp_path)} <= {"done"}
