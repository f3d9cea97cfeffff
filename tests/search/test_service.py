"""The wire protocol: what workers send and get, called in process."""

import json

import pytest
from fabricate import PLAN, draft, study
from fastapi.testclient import TestClient

from designspace.job import Job
from search import ledger
from search.service import JobProgress, create_app
from search.store import Store, StoreError

LOST = {"job_id": 1, "attempt": 1, "status": "lost"}
CLAIM = {"worker": "w", "max": 2, "idempotency_key": "k"}


@pytest.fixture
def client(store: Store) -> TestClient:
    ledger.propose(store, study(store).id, draft("a"), PLAN)
    return TestClient(create_app(store))


def finished(job: dict[str, object], accuracy: float = 0.5) -> dict[str, object]:
    return {"job_id": job["id"], "attempt": job["attempt"], "status": "done", "metrics": {"accuracy": accuracy}}


def test_a_worker_claims_beats_and_delivers(client: TestClient) -> None:
    claim = client.post("/v1/claims", json=CLAIM).json()
    jobs = [Job.model_validate(job) for job in claim["jobs"]]
    assert len(jobs) == 2
    held = [{"job_id": job.id, "attempt": job.attempt} for job in jobs]
    assert client.post("/v1/heartbeats", json={"worker": "w", "jobs": held}).json() == {"lost": []}
    delivery = {"worker": "w", "results": [finished(job) for job in claim["jobs"]]}
    assert client.post("/v1/results", json=delivery).json()["accepted"] == [1, 2]
    assert client.post("/v1/results", json=delivery).json()["duplicate"] == [1, 2]
    assert client.get("/v1/studies/s").json()["counts"]["results"] == 2


def test_a_claim_sent_twice_gives_the_same_jobs(client: TestClient) -> None:
    assert client.post("/v1/claims", json=CLAIM).json() == client.post("/v1/claims", json=CLAIM).json()


def test_progress_reaches_the_listener(store: Store) -> None:
    seen: list[JobProgress] = []
    client = TestClient(create_app(store, on_progress=seen.append))
    point = {"step": 1, "steps": 2, "loss": 0.5, "tokens": 3, "seconds": 0.1}
    beat = {"worker": "w", "jobs": [], "progress": [{"job_id": 1, "attempt": 1, "progress": point}]}
    assert client.post("/v1/heartbeats", json=beat).status_code == 200
    assert [one.progress.step for one in seen] == [1]


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic right"])
def test_without_the_token_nothing_is_told_or_changed(store: Store, header: str | None) -> None:
    client = TestClient(create_app(store, token="right"), headers={"Authorization": header} if header else {})
    assert client.post("/v1/claims", json=CLAIM).status_code == 401
    assert client.get("/healthz").json() == {"status": "ok"}


def test_with_the_token_a_claim_passes(store: Store) -> None:
    client = TestClient(create_app(store, token="right"), headers={"Authorization": "Bearer right"})
    assert client.post("/v1/claims", json=CLAIM).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/v1/claims", {"worker": "w"}, 422, "idempotency_key"),
        ("/v1/claims", CLAIM | {"max": 0}, 422, "max"),
        ("/v1/claims", CLAIM | {"extra": 1}, 422, "extra"),
        ("/v1/claims", CLAIM | {"study": "nope"}, 404, "it holds: s"),
        ("/v1/claims", CLAIM | {"study": "x" * 201}, 422, "study"),
        ("/v1/claims", CLAIM | {"max": -1}, 422, "max"),
        (
            "/v1/results",
            {"worker": "w", "results": [{"job_id": 10**30, "attempt": 1, "status": "done"}]},
            422,
            "job_id",
        ),
        (
            "/v1/results",
            {"worker": "w", "results": [{"job_id": 1, "attempt": 10**30, "status": "done"}]},
            422,
            "attempt",
        ),
        ("/v1/heartbeats", {"worker": "w", "jobs": [{"job_id": 10**30, "attempt": 1}]}, 422, "job_id"),
        ("/v1/nothing", {}, 404, "Not Found"),
    ],
)
def test_errors_are_problems_that_say_what_is_wrong(
    client: TestClient, path: str, body: dict[str, object], status: int, words: str
) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]


def test_an_oversized_body_is_refused(client: TestClient) -> None:
    answer = client.post("/v1/results", content=b"x" * (17 << 20))
    assert answer.status_code == 413


@pytest.mark.parametrize("name", ["worker", "study", "idempotency_key"])
def test_a_text_that_is_no_unicode_is_refused(client: TestClient, name: str) -> None:
    body = json.dumps(CLAIM | {name: "SURROGATE"}).replace("SURROGATE", "\\ud800")
    assert client.post("/v1/claims", content=body, headers={"content-type": "application/json"}).status_code == 422


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1", "1e300"])
def test_seconds_that_no_run_takes_are_refused(client: TestClient, seconds: str) -> None:
    job = client.post("/v1/claims", json=CLAIM).json()["jobs"][0]
    body = json.dumps({"worker": "w", "results": [finished(job) | {"seconds": 0.25}]}).replace("0.25", seconds)
    answer = client.post("/v1/results", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, "seconds" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_no_page_tells_what_the_service_is(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_store_in_trouble_asks_for_another_try(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("search.leases.claim", full)
    answer = client.post("/v1/claims", json=CLAIM)
    assert (answer.status_code, answer.json()["detail"]) == (503, "the disk is full")
