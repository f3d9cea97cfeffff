"""The worker's side of the protocol with the owner of the store: claim, heartbeat, deliver, over HTTP.

Every request may be sent twice: claims carry an idempotency key, heartbeats and results name job and attempt. So a
request is repeated with growing, jittered pauses until the server answers or has been silent for too long.
"""

import os
import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import BaseModel

from designspace.job import Job, Progress, Result
from workers import spool

TOKEN_VARIABLE = "SEXTANT_TOKEN"
TIMEOUT_SECONDS = 30.0  # of one request
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
PATIENCE_SECONDS = 60.0
RESULTS_PER_REQUEST = 64
UNFIT = (httpx.codes.BAD_REQUEST, httpx.codes.REQUEST_ENTITY_TOO_LARGE, httpx.codes.UNPROCESSABLE_ENTITY)


class ServerGoneError(ConnectionError):
    """The server has not answered for longer than the client's patience."""


class RejectedError(RuntimeError):
    """The server understood the request and refused it; sending it again would not help."""


class UnfitError(RejectedError):
    """What was sent is at fault, whoever sends it."""


class Claim(BaseModel):
    """Jobs leased to this worker for `lease_seconds`; `done` says that no more will ever come."""

    jobs: tuple[Job, ...]
    lease_seconds: float
    done: bool


class Client:
    """Speaks to one server in the name of one worker. Safe to use from several threads.

    Args:
        url: base address, such as `http://127.0.0.1:8000`.
        worker: name of this worker, unique among those alive.
        patience_seconds: how long a request is repeated before ServerGoneError.
        token: bearer token; None takes the environment variable SEXTANT_TOKEN, if set.
        transport: replaces the network in tests.
        sleep: pauses between repetitions.
    """

    def __init__(
        self,
        url: str,
        *,
        worker: str,
        patience_seconds: float = PATIENCE_SECONDS,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        token = token or os.environ.get(TOKEN_VARIABLE)
        self.worker = worker
        self._patience_seconds = patience_seconds
        self._sleep = sleep
        self._jitter = random.Random()
        self._http = httpx.Client(
            base_url=url,
            timeout=TIMEOUT_SECONDS,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            transport=transport,
            trust_env=False,  # a proxy of the environment has no business between two local processes
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def claim(self, limit: int, *, study: str | None = None) -> Claim:
        """Up to `limit` jobs, of any study or of one."""
        body = {"worker": self.worker, "max": limit, "idempotency_key": uuid.uuid4().hex, "study": study}
        return Claim.model_validate(self._post("/v1/claims", body))

    def heartbeat(self, held: Iterable[Job], progress: Mapping[int, Progress]) -> frozenset[int]:
        """Renews the leases of `held` jobs and tells how far they are, by job number; the numbers of lost ones."""
        leases = [{"job_id": job.id, "attempt": job.attempt} for job in held]
        points = [
            lease | {"progress": progress[lease["job_id"]].model_dump(mode="json")}
            for lease in leases
            if lease["job_id"] in progress
        ]
        answer = self._post("/v1/heartbeats", {"worker": self.worker, "jobs": leases, "progress": points})
        return frozenset(answer["lost"])

    def deliver(self, results: Sequence[Result], *, patience_seconds: float | None = None) -> None:
        """Hands results over; when this returns the server has them."""
        for start in range(0, len(results), RESULTS_PER_REQUEST):
            part = [result.model_dump(mode="json") for result in results[start : start + RESULTS_PER_REQUEST]]
            self._post("/v1/results", {"worker": self.worker, "results": part}, patience_seconds=patience_seconds)

    def deliver_spooled(self, folder: Path) -> int:
        """Delivers what waits in a spool and forgets it there; the number of results that the server has now."""
        waiting = spool.read(folder)
        try:
            self.deliver(waiting)
        except UnfitError:
            return sum(self._deliver_or_refuse(folder, result) for result in waiting)
        spool.remove(folder, waiting)
        return len(waiting)

    def hand_in(self, folder: Path, result: Result) -> int:
        """Spools a new result, then delivers all that waits; without room on the disk it is delivered unspooled."""
        try:
            spool.write(folder, result)
        except OSError:
            self.deliver([result])
            return 1
        return self.deliver_spooled(folder)

    def _deliver_or_refuse(self, folder: Path, result: Result) -> bool:
        try:
            self.deliver([result])
        except UnfitError as error:
            spool.refuse(folder, result, str(error))
            return False
        spool.remove(folder, [result])
        return True

    def _post(self, path: str, body: dict[str, Any], *, patience_seconds: float | None = None) -> Any:
        patience = self._patience_seconds if patience_seconds is None else patience_seconds
        started, pause = time.monotonic(), FIRST_PAUSE_SECONDS
        while True:
            try:
                return _answer(self._http.post(path, json=body))
            except httpx.TransportError as error:
                silent = time.monotonic() - started
                if silent + pause > patience:
                    raise ServerGoneError(
                        f"{self._http.base_url} has not answered for {silent:.1f} s: {error}"
                    ) from error
                self._sleep(pause * self._jitter.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def _answer(response: httpx.Response) -> Any:
    """The JSON of a good answer.

    Raises:
        httpx.TransportError: the server is in trouble, so another try may help.
        RejectedError: the request is at fault.
    """
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error:
        raise httpx.TransportError(f"the server answered {response.status_code}: {response.text[:200]}")
    if not response.is_success:
        kind = UnfitError if response.status_code in UNFIT else RejectedError
        raise kind(f"{response.request.url} answered {response.status_code}: {response.text[:500]}")
    return response.json()
