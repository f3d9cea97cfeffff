"""A worker without Ray: claims a job, evaluates it in this process, delivers the result, until all is done.

python -m workers.worker http://127.0.0.1:8000 --spool FOLDER
"""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from designspace.job import Job, Progress, Result
from workers.client import PATIENCE_SECONDS, Client, RejectedError, ServerGoneError

POLL_SECONDS = 0.5  # between claims that brought nothing
BEAT_SECONDS = 2.0  # longest pause between heartbeats; they also carry the learning curve
BEATS_PER_LEASE = 3
GOODBYE_SECONDS = 2.0  # patience for giving a job back on the way out
EXIT_SERVER_GONE = 3
EXIT_REJECTED = 4
EXIT_INTERRUPTED = 128 + signal.SIGINT

Evaluation = Callable[[Job], Generator[Progress, None, Result]]


@dataclass
class Pulse:
    """What the heartbeat thread and the evaluation tell each other about the running job."""

    job: Job
    progress: dict[int, Progress] = field(default_factory=dict)
    lost: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


def run_worker(client: Client, *, evaluation: Evaluation, spool_folder: Path, study: str | None = None) -> int:
    """Works until the server says that no more will come; the number of results delivered.

    Raises:
        ServerGoneError: the server was silent for too long; finished results wait in the spool for the next start.
        KeyboardInterrupt: passed on after the running job was given back.
    """
    delivered = client.deliver_spooled(spool_folder)
    while True:
        claim = client.claim(1, study=study)
        for job in claim.jobs:
            result = _work(client, job, evaluation=evaluation, lease_seconds=claim.lease_seconds)
            if result is not None:
                delivered += client.hand_in(spool_folder, result)
        if not claim.jobs:
            if claim.done:
                return delivered
            time.sleep(POLL_SECONDS)


def give_back(client: Client, jobs: list[Job]) -> None:
    """Tells the server that nobody works on `jobs` any more; a server that does not listen will see the leases end."""
    results = [
        Result(job_id=job.id, attempt=job.attempt, status="cancelled", error="The worker was stopped.") for job in jobs
    ]
    try:
        client.deliver(results, patience_seconds=GOODBYE_SECONDS)
    except ServerGoneError:
        return


def _work(client: Client, job: Job, *, evaluation: Evaluation, lease_seconds: float) -> Result | None:
    """The result of `job`, or None if the server took it away meanwhile."""
    run = evaluation(job)
    try:
        with _beating(client, job, lease_seconds=lease_seconds) as pulse:
            while not pulse.lost.is_set():
                try:
                    pulse.progress[job.id] = next(run)
                except StopIteration as stop:
                    result: Result = stop.value
                    return result
    except KeyboardInterrupt:
        give_back(client, [job])
        raise
    finally:
        run.close()
    return None


@contextmanager
def _beating(client: Client, job: Job, *, lease_seconds: float) -> Iterator[Pulse]:
    """Keeps the lease alive from a thread of its own while the body trains."""
    pulse = Pulse(job)
    thread = threading.Thread(target=_beat, args=(client, pulse, beat_seconds(lease_seconds)), daemon=True)
    thread.start()
    try:
        yield pulse
    finally:
        pulse.ended.set()
        thread.join(GOODBYE_SECONDS)


def beat_seconds(lease_seconds: float) -> float:
    """Pause between heartbeats."""
    return min(lease_seconds / BEATS_PER_LEASE, BEAT_SECONDS)


def _beat(client: Client, pulse: Pulse, pause_seconds: float) -> None:
    while not pulse.ended.wait(pause_seconds):
        try:
            lost = client.heartbeat([pulse.job], dict(pulse.progress))
        except ServerGoneError:
            continue  # the evaluation goes on: its result is worth keeping, and delivery will find out
        if pulse.job.id in lost and not pulse.ended.is_set():
            pulse.lost.set()
            return


def command_line(module: str, description: str) -> argparse.ArgumentParser:
    """The arguments that every kind of worker takes."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("url", help="the server, such as http://127.0.0.1:8000")
    parser.add_argument("--spool", type=Path, required=True, help="folder for results that wait, one per store")
    parser.add_argument("--study", help="take jobs of this study only")
    parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS, help="seconds without an answer to give up")
    return parser


def serve(options: argparse.Namespace, *, kind: str, work: Callable[[Client], None]) -> int:
    """Runs `work` with a client until it ends; the exit code of the process."""
    interruptible()
    with Client(options.url, worker=f"{kind}{name_suffix(os.getpid())}", patience_seconds=options.patience) as client:
        try:
            work(client)
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED
        except (ServerGoneError, RejectedError) as error:
            sys.stderr.write(f"{error}\n")
            return EXIT_SERVER_GONE if isinstance(error, ServerGoneError) else EXIT_REJECTED
    return 0


def name_suffix(process: int) -> str:
    """How the names of a process's workers on this machine end, so that its owner knows whose leases died with it."""
    return f"-{socket.gethostname()}-{process}"


def interruptible() -> None:
    """Makes SIGTERM and SIGINT raise KeyboardInterrupt, also where the parent had them ignored."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)


def main(arguments: list[str] | None = None) -> int:
    """Runs one worker as a process; its exit code."""
    options = command_line("workers.worker", "Train jobs of a server in this process.").parse_args(arguments)
    import torch  # after the arguments, which are often wrong and need no torch

    from workers.evaluate import evaluation
    from workers.limits import limit_memory

    torch.set_num_threads(1)
    limit_memory()

    def work(client: Client) -> None:
        run_worker(client, evaluation=evaluation, spool_folder=options.spool, study=options.study)

    return serve(options, kind="worker", work=work)


if __name__ == "__main__":
    sys.exit(main())
