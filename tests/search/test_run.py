"""Whole searches in several processes: service, executor, kill -9 of the owner at any time, and resume."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fabricate import judge, space
from sqlalchemy import func, select

from designspace.errors import SpecError
from search.commands import demo
from search.executor_process import MAX_RESTARTS, ExecutorDiedError
from search.leases import LEASE_SECONDS
from search.run import Hands, Live, locked, resume_study, run_study, stop_study
from search.status import Status, status
from search.store import open_store
from search.tables import AttemptRow, JobRow, ResultRow

HERE = Path(__file__).parent
TRIALS = 6
PLANNED = TRIALS * 4  # trials, times two tasks and two seeds
SECONDS_PER_JOB = 0.15  # slow enough to interrupt a search half-way on a busy machine
DEADLINE_SECONDS = 60.0


def hands(store: Path, seconds: float = SECONDS_PER_JOB) -> Hands:
    """One fabricating worker beside the store."""
    command = (sys.executable, str(HERE / "fake_worker.py"), "{url}", f"{store}.spool", str(seconds))
    return Hands(workers=1, command=command)


def start(action: str, store: Path) -> subprocess.Popen[bytes]:
    # A shell that starts the tests in the background has Ctrl-C ignored, and children inherit that.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen([sys.executable, str(HERE / "fake_owner.py"), action, str(store)], preexec_fn=heed)


def wait_for(store: Path, results: int) -> None:
    """Until the store holds so many results."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(SpecError):  # the owner has not made its tables yet
            if counted(store, ResultRow) >= results:
                return
        time.sleep(0.05)
    raise TimeoutError(f"{store} never held {results} results.")


def counted(path: Path, table: type) -> int:
    store = open_store(str(path), create=False)
    with store.read() as session:
        found = session.scalar(select(func.count()).select_from(table)) or 0
    store.close()
    return found


def lost(path: Path) -> int:
    """Attempts whose worker died."""
    store = open_store(str(path), create=False)
    with store.read() as session:
        query = select(func.count()).select_from(AttemptRow).where(AttemptRow.state == "lost")
        found = session.scalar(query) or 0
    store.close()
    return found


def final(path: Path) -> Status:
    store = open_store(str(path), create=False)
    found = status(store, "s")
    store.close()
    return found


def test_a_search_runs_to_its_end_in_two_processes(tmp_path: Path) -> None:
    seen: list[Live] = []
    store = tmp_path / "runs.db"
    small = space(budget={"trials": TRIALS})
    found = run_study(small, name="s", store_url=str(store), hands=hands(store), judge=judge, on_live=seen.append)
    assert (found.state, found.counts.results) == ("done", PLANNED)
    assert found.best is not None
    assert found.best.name.startswith("readout=relu")
    assert seen[-1].status == found
    assert any(live.status.running for live in seen)


@pytest.mark.parametrize("kills", [(1,), (3, 9, 16)])
def test_a_killed_owner_is_resumed_to_exactly_the_planned_results(tmp_path: Path, kills: tuple[int, ...]) -> None:
    store = tmp_path / "runs.db"
    owner = start("run", store)
    for results in kills:
        wait_for(store, results)
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner = start("resume", store)
    assert owner.wait(DEADLINE_SECONDS) == 0
    found = final(store)
    assert (found.state, found.counts.results, found.jobs_taken, found.trials_taken) == (
        "done",
        PLANNED,
        PLANNED,
        TRIALS,
    )
    assert counted(store, JobRow) == PLANNED
    assert counted(store, AttemptRow) >= PLANNED


def test_an_interrupted_search_is_stopped_and_can_be_resumed(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    owner = start("run", store)
    wait_for(store, 5)
    owner.send_signal(signal.SIGINT)
    assert owner.wait(DEADLINE_SECONDS) == 0
    assert (final(store).state, final(store).counts.jobs["leased"]) == ("stopped", 0)
    found = resume_study("s", store_url=str(store), hands=hands(store), judge=judge)
    assert (found.state, found.counts.results) == ("done", PLANNED)


def test_the_killed_owners_worker_ends_too(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    owner = start("run", store)
    wait_for(store, 1)
    [child] = [int(pid) for pid in Path(f"/proc/{owner.pid}/task/{owner.pid}/children").read_text().split()]
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while is_alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_job_of_a_killed_worker_is_done_by_the_next_without_waiting_for_its_lease(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    killed: list[int] = []

    def kill_until_a_job_is_lost(live: Live) -> None:
        """What the status calls running may have been delivered by now: then the next one is killed too."""
        due = live.status.running and live.status.counts.results >= 2 * (len(killed) + 1)
        if not due or lost(store):
            return
        pid = int(str(live.status.running[0].worker).rpartition("-")[2])
        if pid not in killed and is_alive(pid):
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    started = time.monotonic()
    small = space(budget={"trials": TRIALS})
    found = run_study(
        small, name="s", store_url=str(store), hands=hands(store, 0.1), judge=judge, on_live=kill_until_a_job_is_lost
    )
    assert killed
    assert (found.state, found.counts.results, counted(store, ResultRow)) == ("done", PLANNED, PLANNED)
    assert counted(store, AttemptRow) == PLANNED + lost(store) > PLANNED
    assert time.monotonic() - started < LEASE_SECONDS


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_a_second_owner_is_refused_and_a_stop_reaches_the_first(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    owner = start("run", store)
    wait_for(store, 1)
    with pytest.raises(SpecError, match=f"Process {owner.pid} runs a search"):
        resume_study("s", store_url=str(store), hands=hands(store), judge=judge)
    assert stop_study("s", store_url=str(store)).state == "stopped"
    assert owner.wait(DEADLINE_SECONDS) == 0
    assert final(store).counts.results < PLANNED


def test_what_a_dead_executor_leaves_behind_is_ended(tmp_path: Path) -> None:
    left = tmp_path / "pid"
    command = ("sh", "-c", f"sleep 60 & echo $! >> {left}; exit 1")
    with pytest.raises(ExecutorDiedError):
        run_study(space(), name="s", store_url=str(tmp_path / "x.db"), hands=Hands(command=command), judge=judge)
    orphans = [int(pid) for pid in left.read_text().split()]
    assert len(orphans) == MAX_RESTARTS + 1
    deadline = time.monotonic() + DEADLINE_SECONDS
    while any(is_alive(pid) for pid in orphans):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_demo_does_not_wipe_the_store_of_one_that_runs(tmp_path: Path) -> None:
    store = tmp_path / demo.STORE
    store.write_text("precious")
    with locked(store), pytest.raises(SpecError, match=f"Process {os.getpid()} runs a search"):
        demo._fresh_store(tmp_path)
    assert store.read_text() == "precious"
    assert demo._fresh_store(tmp_path) == str(store)
    assert list(tmp_path.iterdir()) == []


def test_an_executor_that_cannot_start_is_reported_with_its_last_words(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "raise SystemExit('no device here')")
    with pytest.raises(ExecutorDiedError, match="no device here"):
        run_study(space(), name="s", store_url=str(tmp_path / "x.db"), hands=Hands(command=command), judge=judge)
    assert (tmp_path / "x.db.executor.log").read_text().count("no device here") == MAX_RESTARTS + 1
