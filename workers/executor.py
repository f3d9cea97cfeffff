"""The Ray driver: claims jobs over HTTP, trains them on persistent actors, delivers the results. Knows no store.

    python -m workers.executor http://127.0.0.1:8000 --spool FOLDER --workers 2

Ray's state is disposable: an actor that dies is restarted by Ray and its job reported as lost, so that the owner of the
store hands it out again; if Ray itself is lost this process ends and so do its leases. Execution is at least once.
"""

import logging
import os
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Ray reads these at import. It listens on every interface whatever it is told, so its ports must ask for a token.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.exceptions import ActorUnavailableError, OutOfMemoryError, RayError, RayTaskError

from designspace.job import Job, Progress, Result, Status
from workers.client import Client
from workers.worker import (
    POLL_SECONDS,
    Evaluation,
    beat_seconds,
    command_line,
    give_back,
    interruptible,
    serve,
)

OBJECT_STORE_BYTES = 100 << 20  # only jobs, curve points and results pass through it
WAIT_SECONDS = 0.25  # how long the driver sleeps before it looks at claims and heartbeats again


class Evaluator:
    """An actor: one process, one thread, torch imported once."""

    def __init__(self, evaluation: Evaluation | None) -> None:
        import torch  # here and not above: the driver needs neither its memory nor its three seconds

        from workers.limits import limit_memory

        torch.set_num_threads(1)
        limit_memory()
        self._evaluation = evaluation or _default_evaluation()

    def is_up(self) -> bool:
        """True, as soon as the process and its imports are there."""
        return True

    def run(self, job: Job) -> Generator[Progress | Result, None, None]:
        """The learning curve of `job`, then its result as the last item."""
        yield (yield from self._evaluation(job))


@dataclass
class Pool:
    """Actors and what they do.

    Args:
        idle: actors without a job.
        running: the stream of each run, with its actor and job.
        starting: a reference that each actor fulfils when its process is up, with the actor.
        progress: the newest point of the curve of running jobs, by job number.
    """

    idle: list[Any] = field(default_factory=list)
    running: dict[Any, tuple[Any, Job]] = field(default_factory=dict)
    starting: dict[Any, Any] = field(default_factory=dict)
    progress: dict[int, Progress] = field(default_factory=dict)

    @property
    def jobs(self) -> list[Job]:
        """Jobs in the hands of actors."""
        return [job for _, job in self.running.values()]

    def add(self, actor: Any) -> None:
        """Takes in an actor that is not up yet; a job given to it now would be lost with the process it replaces."""
        self.starting[actor.is_up.remote()] = actor

    def start(self, job: Job) -> None:
        """Gives `job` to an idle actor."""
        actor = self.idle.pop()
        self.running[actor.run.options(num_returns="streaming").remote(job)] = (actor, job)

    def collect(self, wait_seconds: float) -> list[Result]:
        """Results that came in within `wait_seconds`; takes note of curve points on the way."""
        waiting = [*self.running, *self.starting]
        if not waiting:
            time.sleep(wait_seconds)
            return []
        ready, _ = ray.wait(waiting, timeout=wait_seconds, fetch_local=False)
        results = [self._advance(stream) for stream in ready if stream in self.running]
        for reference in ready:
            if reference in self.starting:
                self._welcome(reference)
        return [result for result in results if result is not None]

    def _welcome(self, reference: Any) -> None:
        """Makes an actor idle that is up; asks again where its process is still being replaced."""
        actor = self.starting.pop(reference)
        try:
            ray.get(reference)
        except ActorUnavailableError:
            self.add(actor)
        else:
            self.idle.append(actor)

    def _advance(self, stream: Any) -> Result | None:
        """Reads the next item of a stream that has one: the result of its run, or None after a curve point."""
        actor, job = self.running[stream]
        try:
            item: Progress | Result = ray.get(next(stream))
        except RayError as error:
            item = _lost(job, error)
        if isinstance(item, Progress):
            self.progress[job.id] = item
            return None
        del self.running[stream]
        self.progress.pop(job.id, None)
        self.add(actor)
        return item


def run_executor(
    client: Client,
    *,
    num_actors: int,
    spool_folder: Path,
    study: str | None = None,
    address: str | None = None,
    evaluation: Evaluation | None = None,
) -> int:
    """Works until the server says that no more will come; the number of results delivered.

    Args:
        client: speaks to the server.
        num_actors: jobs trained at a time, each on one core and an equal share of the GPUs, if there are any.
        spool_folder: where results wait until the server has them.
        study: take jobs of this study only.
        address: of a running Ray cluster; None starts one on this machine that ends with this process.
        evaluation: replaces training in tests; must be picklable.

    Raises:
        ServerGoneError: the server was silent for too long; finished results wait in the spool for the next start.
        KeyboardInterrupt: passed on after the running jobs were given back.
    """
    delivered = client.deliver_spooled(spool_folder)
    with _ray(num_actors, address):
        pool = Pool()
        for actor in _actors(num_actors, evaluation):
            pool.add(actor)
        try:
            return delivered + _work(client, pool, spool_folder=spool_folder, study=study)
        except KeyboardInterrupt:
            give_back(client, pool.jobs)
            raise


def _work(client: Client, pool: Pool, *, spool_folder: Path, study: str | None) -> int:
    """Claims, collects, delivers and keeps leases alive until all is done."""
    delivered, next_claim, next_beat, pause = 0, 0.0, 0.0, 0.0
    while True:
        now = time.monotonic()
        if pool.idle and now >= next_claim:
            claim = client.claim(len(pool.idle), study=study)
            for job in claim.jobs:
                pool.start(job)
            if claim.done and not pool.running:
                return delivered
            next_claim = now if claim.jobs else now + POLL_SECONDS
            pause = beat_seconds(claim.lease_seconds)
        for result in pool.collect(WAIT_SECONDS):
            delivered += client.hand_in(spool_folder, result)
            next_claim = 0.0
        if pool.running and now >= next_beat:
            # A lost job is finished all the same: it takes seconds, and its late result may still be of use.
            client.heartbeat(pool.jobs, pool.progress)
            next_beat = now + pause


@contextmanager
def _ray(num_actors: int, address: str | None) -> Iterator[None]:
    """A Ray session that ends with the block: one of its own on this machine, or a seat in a cluster."""
    if address is None:
        ray.init(
            num_cpus=num_actors,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    else:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    interruptible()  # again: ray.init puts its own handler of SIGTERM, which skips every `finally`
    try:
        yield
    finally:
        ray.shutdown()


def _actors(num_actors: int, evaluation: Evaluation | None) -> list[Any]:
    gpus = ray.cluster_resources().get("GPU", 0.0)  # type: ignore[no-untyped-call]
    actor = ray.remote(Evaluator).options(
        num_cpus=1,
        num_gpus=min(1.0, gpus / num_actors),
        max_restarts=-1,
        max_task_retries=0,  # the store decides whether a job runs again
    )
    return [actor.remote(evaluation) for _ in range(num_actors)]


def _default_evaluation() -> Evaluation:
    from workers.evaluate import evaluation

    return evaluation


def _lost(job: Job, error: RayError) -> Result:
    """What to say of a job whose actor did not answer."""
    status: Status
    match error:
        case OutOfMemoryError():
            status = "oom"
        case RayTaskError():
            status = "failed"
        case _:
            status = "lost"
    message = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return Result(job_id=job.id, attempt=job.attempt, status=status, error=message)


def main(arguments: list[str] | None = None) -> int:
    """Runs the executor as a process; its exit code."""
    parser = command_line("workers.executor", "Train jobs of a server on Ray actors.")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="jobs trained at a time")
    parser.add_argument("--ray", help="address of a running Ray cluster; default: one that ends with this process")
    options = parser.parse_args(arguments)

    def work(client: Client) -> None:
        run_executor(
            client,
            num_actors=options.workers,
            spool_folder=options.spool,
            study=options.study,
            address=options.ray,
        )

    return serve(options, kind="ray", work=work)


if __name__ == "__main__":
    sys.exit(main())
