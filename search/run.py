"""Runs a search on this machine: the owner process (store, HTTP service, adviser) and an executor as its child.

The owner is this process. A file lock keeps a second owner off the store, and the kernel drops the lock when the owner
dies, so `resume_study` works at once after a kill -9: it takes the dead workers' leases back and goes on.
"""

import fcntl
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from designspace.errors import SpecError
from search import leases, ledger
from search.executor_process import ExecutorProcess, executor_command, worker_command
from search.judge import Judge, judge_for
from search.ledger import Budget
from search.service import JobProgress, create_app
from search.space import Space, from_record
from search.status import Status, status
from search.store import Store, identity, open_store
from search.study import Search
from workers.worker import name_suffix

HOST = "127.0.0.1"
STEP_SECONDS = 0.2
START_SECONDS = 10.0  # for the HTTP service to answer
GOODBYE_SECONDS = 20.0  # for the executor to end by itself once the study is over
QUEUED_PER_WORKER = 2


@dataclass(frozen=True)
class Live:
    """The state of a running search: its status, and the newest point of each curve in training by job."""

    status: Status
    progress: dict[int, JobProgress]


OnLive = Callable[[Live], None]


@dataclass(frozen=True)
class Hands:
    """Who trains.

    Args:
        workers: how many train at once.
        ray: on Ray actors; otherwise one plain process each.
        ray_address: a Ray cluster; None starts one on this machine.
        lease_seconds: how long a worker may be silent before its job goes to another.
        command: replaces the executor's command line in tests; `{url}` in it becomes the service's address.
    """

    workers: int = 2
    ray: bool = True
    ray_address: str | None = None
    lease_seconds: float = leases.LEASE_SECONDS
    command: tuple[str, ...] | None = None

    def commands(self, url: str, *, study: str, spool: Path) -> list[tuple[str, ...]]:
        """The command lines of the processes that train."""
        if self.command is not None:
            return [tuple(part.replace("{url}", url) for part in self.command)]
        if self.ray:
            address = self.ray_address
            return [executor_command(url, study=study, spool=spool, workers=self.workers, ray_address=address)]
        return [worker_command(url, study=study, spool=spool / str(index)) for index in range(self.workers)]


def run_study(
    space: Space,
    *,
    name: str,
    store_url: str,
    hands: Hands | None = None,
    budget: Budget | None = None,
    on_live: OnLive | None = None,
    judge: Judge | None = None,
) -> Status:
    """The status at the end of a new study; `stopped` if it was interrupted, and then `resume_study` goes on.

    Args:
        space: what to search.
        name: of the study, new in the store.
        store_url: a path or an SQLAlchemy URL; the store is made if need be.
        hands: who trains.
        budget: replaces the space's.
        on_live: called a few times per second with the state of the search.
        judge: replaces the checkers, in tests.

    Raises:
        SpecError: the name is taken, or another process owns the store.
        ExecutorDiedError: the executor crashed again and again.
    """
    with _owned(store_url) as store:
        ledger.create_study(store, name, space=space.record(), budget=budget or space.settings.limits)
        return _run(store, name, space, hands=hands or Hands(), on_live=on_live, judge=judge)


def resume_study(
    name: str,
    *,
    store_url: str,
    hands: Hands | None = None,
    budget: Budget | None = None,
    on_live: OnLive | None = None,
    judge: Judge | None = None,
) -> Status:
    """The status at the end of a study that was stopped, or whose owner died; see `run_study`.

    Raises:
        SpecError: there is no such study, or another process owns the store.
    """
    with _owned(store_url, create=False) as store:
        study = ledger.study(store, name)
        if budget is not None:
            study = ledger.extend_budget(store, name, budget)
        ledger.set_state(store, name, "running", reason="Resumed.")
        return _run(store, name, from_record(study.space), hands=hands or Hands(), on_live=on_live, judge=judge)


def stop_study(name: str, *, store_url: str) -> Status:
    """The status after the study was asked to stop; its owner, if it runs, sees that within a second."""
    store = open_store(store_url, create=False)
    try:
        ledger.study(store, name)
        ledger.set_state(store, name, "stopped", reason="Stopped by the user.")
        return status(store, name)
    finally:
        store.close()


def _run(store: Store, name: str, space: Space, *, hands: Hands, on_live: OnLive | None, judge: Judge | None) -> Status:
    leases.release_all(store, "The owner of the store started anew.")
    ahead = QUEUED_PER_WORKER * hands.workers
    rules = space.settings
    search = Search(store, name, space, judge or judge_for(rules.plan, rules.reject, rules.checker), ahead=ahead)
    token, progress = secrets.token_urlsafe(32), dict[int, JobProgress]()
    app = create_app(
        store,
        token=token,
        lease_seconds=hands.lease_seconds,
        on_progress=lambda point: progress.update({point.job_id: point}),
    )
    if search.step():
        _serve(search, app, hands=hands, token=token, show=lambda: _show(search, hands, progress, on_live))
    leases.release_all(store, "The owner of the store ended, and its workers with it.")
    return _show(search, hands, {}, on_live)


def _serve(search: Search, app: FastAPI, *, hands: Hands, token: str, show: Callable[[], Status]) -> None:
    """Hand out jobs and take results until the study ends, or the user interrupts it."""
    spool, log = _beside(search.store, "spool") / identity(search.store), _beside(search.store, "executor.log")
    with _serving(app) as url, _executing(hands.commands(url, study=search.name, spool=spool), token, log) as executors:
        try:
            while search.step():
                for executor in executors:
                    if (dead := executor.watch()) is not None:
                        leases.release_dead(search.store, name_suffix(dead))
                show()
                time.sleep(STEP_SECONDS)
            for executor in executors:
                executor.end(patience_seconds=GOODBYE_SECONDS)
        except KeyboardInterrupt:
            ledger.set_state(search.store, search.name, "stopped", reason="Interrupted.")


def _show(search: Search, hands: Hands, progress: dict[int, JobProgress], on_live: OnLive | None) -> Status:
    found = status(search.store, search.name, workers=hands.workers)
    if on_live:
        running = {job.job_id for job in found.running}
        on_live(Live(found, {job_id: point for job_id, point in list(progress.items()) if job_id in running}))
    return found


@contextmanager
def _executing(commands: list[tuple[str, ...]], token: str, log: Path) -> Iterator[list[ExecutorProcess]]:
    executors = [ExecutorProcess(command, token, log) for command in commands]
    try:
        yield executors
    finally:
        for executor in executors:
            executor.end()


@contextmanager
def _serving(app: FastAPI) -> Iterator[str]:
    """The address of the service, on a free port of the loopback interface, in a thread of this process."""
    listener = socket.create_server((HOST, 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if time.monotonic() > deadline:
            raise RuntimeError(f"The HTTP service did not start within {START_SECONDS:g} s.")
        time.sleep(0.01)
    try:
        yield f"http://{HOST}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)


@contextmanager
def _owned(store_url: str, *, create: bool = True) -> Iterator[Store]:
    """The open store, locked for this process."""
    store = open_store(store_url, create=create)
    try:
        database = store.engine.url.database if store.engine.dialect.name == "sqlite" else None
        with locked(Path(database)) if database else nullcontext():
            yield store
    finally:
        store.close()


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Keep every other owner off the SQLite file `database`, which need not exist, while the block runs.

    Raises:
        SpecError: another process owns it, or its folder cannot be written to.
    """
    path = Path(f"{database}.owner")
    try:
        file = path.open("a+")
    except OSError as error:
        message = f"cannot be written ({error.strerror}); a store needs a folder that it may write to."
        raise SpecError(message, file=str(path)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise SpecError(
                f"Process {file.read().strip() or '?'} runs a search on {database}; wait for it, stop it with "
                "`sextant search stop`, or give another `--store`."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _beside(store: Store, suffix: str) -> Path:
    """A path beside the SQLite file, else in the working folder."""
    database = store.engine.url.database if store.engine.dialect.name == "sqlite" else None
    return Path(f"{database or 'sextant'}.{suffix}")
