"""The HTTP service of a store's owner: claims, heartbeats and results of workers, and the status of studies.

    POST /v1/claims      {worker, max, idempotency_key, study?}    -> {jobs: [Job], lease_seconds, done}
    POST /v1/heartbeats  {worker, jobs: [{job_id, attempt}], progress?: [{job_id, attempt, progress}]} -> {lost: [id]}
    POST /v1/results     {worker, results: [Result]}               -> {accepted: [id], duplicate: [id], unknown: [id]}
    GET  /v1/studies/{name}     GET /healthz

Every POST may be sent again: a repeated claim returns the same leases, a repeated result changes nothing. Errors are
problem+json (RFC 9457); 503 means that the store is in trouble and that the same request may help later. A token, if
there is one, is needed for all but /healthz. The schema is `create_app(...).openapi()`; no page serves it.
"""

import hmac
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from designspace.errors import SpecError
from designspace.job import Progress, Record, Result
from search import leases, ledger
from search.leases import Claim, ClaimRequest, Lease, Receipt
from search.status import Status, status
from search.store import Store, StoreError

MAX_BODY_BYTES = 16 << 20
MAX_BATCH = 256
TOKEN_VARIABLE = "SEXTANT_TOKEN"
PROBLEM = "application/problem+json"


class JobProgress(Lease):
    """The newest point of a running job's learning curve."""

    progress: Progress


class Heartbeat(Record):
    """A worker is alive and holds these leases."""

    worker: str = Field(min_length=1, max_length=200)
    jobs: tuple[Lease, ...] = Field(max_length=MAX_BATCH)
    progress: tuple[JobProgress, ...] = Field(default=(), max_length=MAX_BATCH)


class Lost(Record):
    """Jobs that the worker should drop; a result it sends all the same is still kept."""

    lost: tuple[int, ...]


class Delivery(Record):
    """Finished runs of a worker."""

    worker: str = Field(min_length=1, max_length=200)
    results: tuple[Result, ...] = Field(max_length=MAX_BATCH)


class Health(Record):
    """The service answers and its store can be read."""

    status: str = "ok"


ProgressListener = Callable[[JobProgress], None]


def create_app(
    store: Store,
    *,
    token: str | None = None,
    lease_seconds: float = leases.LEASE_SECONDS,
    on_progress: ProgressListener | None = None,
) -> FastAPI:
    """The service of `store`.

    Args:
        store: the open store, which this process alone writes.
        token: the bearer token that every request but /healthz must carry; None asks for none.
        lease_seconds: how long a lease lives without a heartbeat.
        on_progress: called with every point of a learning curve that a heartbeat brings.
    """
    app = FastAPI(title="Sextant", summary="Search over causal sequence mixers.", openapi_url=None)
    _problems(app)
    app.middleware("http")(_bounded)
    guard = [Depends(_require(token))] if token else []

    @app.get("/healthz")
    def health() -> Health:
        ledger.studies(store)
        return Health()

    @app.post("/v1/claims", dependencies=guard)
    def claims(request: ClaimRequest) -> Claim:
        if request.study is not None:
            ledger.study(store, request.study)
        return leases.claim(store, request, lease_seconds=lease_seconds)

    @app.post("/v1/heartbeats", dependencies=guard)
    def heartbeats(beat: Heartbeat) -> Lost:
        for point in beat.progress:
            if on_progress:
                on_progress(point)
        return Lost(lost=leases.heartbeat(store, beat.worker, beat.jobs, lease_seconds=lease_seconds))

    @app.post("/v1/results", dependencies=guard)
    def results(delivery: Delivery) -> Receipt:
        return leases.complete(store, delivery.results)

    @app.get("/v1/studies/{name:path}", dependencies=guard)
    def study(name: str) -> Status:
        return status(store, name)

    return app


def _require(token: str) -> Callable[[HTTPAuthorizationCredentials | None], None]:
    scheme = HTTPBearer(auto_error=False)

    def check(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(scheme)]) -> None:
        if credentials is None or not hmac.compare_digest(credentials.credentials.encode(), token.encode()):
            raise HTTPException(401, f"Send `Authorization: Bearer TOKEN`; a worker takes it from {TOKEN_VARIABLE}.")

    return check


async def _bounded(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """Refuse a body that is larger than MAX_BODY_BYTES or does not say how large it is."""
    length = request.headers.get("content-length", "0" if request.method in ("GET", "HEAD") else "")
    if not length.isdecimal():
        return _problem(411, "Send a Content-Length.")
    if int(length) > MAX_BODY_BYTES:
        return _problem(413, f"The body has {length} bytes; send at most {MAX_BODY_BYTES}.")
    return await call_next(request)


def _problem(status_code: int, detail: str) -> JSONResponse:
    content = {"type": "about:blank", "status": status_code, "detail": detail}
    return JSONResponse(content, status_code=status_code, media_type=PROBLEM)


def _problems(app: FastAPI) -> None:
    """Answer errors as problem+json."""

    @app.exception_handler(StarletteHTTPException)
    async def http_error(_: Request, error: StarletteHTTPException) -> JSONResponse:
        return _problem(error.status_code, str(error.detail))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return _problem(422, f"`{place}`: {first['msg']}.")

    @app.exception_handler(StoreError)
    async def store_in_trouble(_: Request, error: StoreError) -> JSONResponse:
        return _problem(503, str(error))

    @app.exception_handler(SpecError)
    async def unknown(_: Request, error: SpecError) -> JSONResponse:
        return _problem(404, str(error))
