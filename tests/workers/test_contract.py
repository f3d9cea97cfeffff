"""The worker against the real service: claims, heartbeats and results fit together without a network."""

import pytest
from fastapi.testclient import TestClient

from designspace.candidate import single
from designspace.canonical import fingerprint
from designspace.job import Progress, Result
from designspace.mixer import MixerSpec
from search import leases, ledger
from search.service import create_app
from search.store import open_store
from workers.client import Client, RejectedError
from workers.worker import run_worker

CANDIDATE = single(MixerSpec())


@pytest.fixture
def store(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


@pytest.fixture
def points():
    return []


@pytest.fixture
def client(store, points):
    app = TestClient(create_app(store, token="secret", on_progress=points.append))
    with Client("http://testserver", worker="w", token="secret", transport=app._transport) as speaker:
        yield speaker


def propose(store) -> None:
    """A study of one candidate on two tasks with two seeds."""
    study = ledger.create_study(store, "s", space={}, budget=ledger.Budget(trials=1))
    draft = ledger.Draft(
        fingerprint=fingerprint(CANDIDATE),
        name="plain",
        spec=CANDIDATE.model_dump(mode="json"),
        report={"summary": {"errors": 0, "warnings": 0, "infos": 0}},
        rejected=False,
        facts={
            task: {"parameters": 1.0, "state_bytes": 1.0, "decode_macs": 1.0} for task in ("parity", "memorization")
        },
    )
    ledger.propose(store, study.id, draft, ledger.Plan(tasks=("parity", "memorization"), seeds=(0, 1)))


def quick(job):
    yield Progress(step=1, steps=1, loss=1.0, tokens=1, seconds=0.1)
    return Result(job_id=job.id, attempt=job.attempt, status="done", metrics={"accuracy": 0.5, "chance": 0.1})


def test_a_worker_does_every_job_of_a_study_and_ends_with_it(store, client, tmp_path, monkeypatch):
    """The worker waits while the queue is empty, since a study may propose more; here the wait ends the study."""
    propose(store)
    monkeypatch.setattr("workers.worker.time.sleep", lambda _: ledger.end_study(store, "s", "enough"))
    assert run_worker(client, evaluation=quick, spool_folder=tmp_path / "spool") == 4
    counts = ledger.counts(store, ledger.study(store, "s").id)
    assert (counts.jobs["done"], counts.results) == (4, 4)


def test_heartbeat_is_understood_with_its_points(store, client, points):
    propose(store)
    (job,) = client.claim(1).jobs
    point = Progress(step=2, steps=4, loss=1.0, validation_accuracy=0.5, tokens=10, seconds=0.1)
    assert client.heartbeat([job], {job.id: point}) == frozenset()
    assert [(seen.job_id, seen.progress) for seen in points] == [(job.id, point)]


def test_a_job_of_another_worker_is_lost(store, client):
    propose(store)
    (job,) = client.claim(1).jobs
    assert client.heartbeat([job.model_copy(update={"attempt": 7})], {}) == {job.id}


def test_a_job_given_back_is_handed_out_again(store, client):
    propose(store)
    (job,) = client.claim(1).jobs
    client.deliver([Result(job_id=job.id, attempt=job.attempt, status="cancelled", error="stopped")])
    assert job.id in {again.id for again in client.claim(4).jobs}


def test_done_is_said_when_the_study_has_ended(store, client):
    propose(store)
    assert not client.claim(1).done
    ledger.end_study(store, "s", "enough")
    assert client.claim(1).done


def test_an_unknown_study_is_refused_with_the_reason(client):
    with pytest.raises(RejectedError, match="404"):
        client.claim(1, study="nowhere")


def test_the_store_leases_as_long_as_it_says(store, client):
    propose(store)
    assert client.claim(1).lease_seconds == leases.LEASE_SECONDS
