"""The client: what it repeats, what it does not, and that results survive on disk."""

import json
import time

import httpx
import pytest
from owner import Owner, make_job

from designspace.job import Progress, Result
from workers import spool
from workers.client import RESULTS_PER_REQUEST, Client, RejectedError, ServerGoneError


def client(transport: httpx.BaseTransport, **options) -> Client:
    return Client("http://owner", worker="tester", transport=transport, sleep=lambda _: None, **options)


def done(number: int) -> Result:
    return Result(job_id=number, attempt=1, status="done", metrics={"accuracy": 0.5})


class Faulty:
    """Passes every request on, but loses the first answers, or the first requests."""

    def __init__(self, owner: Owner, faults: list[str]) -> None:
        self.owner, self.faults, self.keys = owner, faults, []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(json.loads(request.content).get("idempotency_key"))
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "request lost":
            raise httpx.ConnectError("refused")
        answer = self.owner.transport.handler(request)
        if fault == "answer lost":
            raise httpx.ReadTimeout("silence")
        return httpx.Response(503, text="busy") if fault == "busy" else answer


@pytest.mark.parametrize("fault", ["request lost", "answer lost", "busy"])
def test_a_claim_is_repeated_under_one_key_and_takes_its_jobs_once(fault):
    owner = Owner(jobs=3)
    network = Faulty(owner, [fault, fault])
    claim = client(httpx.MockTransport(network)).claim(2)
    assert [job.id for job in claim.jobs] == [1, 2]
    assert len(set(network.keys)) == 1
    assert [job.id for job in owner.queue] == [3]


def test_two_claims_have_two_keys():
    network = Faulty(Owner(jobs=3), [])
    speaker = client(httpx.MockTransport(network))
    assert [[job.id for job in speaker.claim(1).jobs] for _ in range(2)] == [[1], [2]]
    assert len(set(network.keys)) == 2


def test_a_refusal_is_not_repeated_and_tells_the_reason():
    calls = []

    def refuse(request):
        calls.append(request)
        return httpx.Response(404, json={"detail": "There is no study `x`."})

    with pytest.raises(RejectedError, match=r"404.*There is no study"):
        client(httpx.MockTransport(refuse)).claim(1, study="x")
    assert len(calls) == 1


def test_a_silent_server_is_given_up_after_the_patience():
    def refuse(_):
        raise httpx.ConnectError("refused")

    started = time.monotonic()
    speaker = Client("http://owner", worker="t", transport=httpx.MockTransport(refuse), patience_seconds=0.5)
    with pytest.raises(ServerGoneError, match="refused"):
        speaker.claim(1)
    assert time.monotonic() - started < 2


def test_heartbeat_names_attempts_and_carries_the_newest_points():
    owner = Owner(jobs=0)
    owner.lost = {2}
    point = Progress(step=3, steps=9, loss=1.0, tokens=10, seconds=0.1)
    lost = client(owner.transport).heartbeat([make_job(1), make_job(2)], {1: point, 7: point})
    assert lost == {2}
    assert owner.beats[0]["jobs"] == [{"job_id": 1, "attempt": 1}, {"job_id": 2, "attempt": 1}]
    assert owner.beats[0]["progress"] == [{"job_id": 1, "attempt": 1, "progress": point.model_dump(mode="json")}]


def test_many_results_go_in_several_requests():
    owner, requests = Owner(jobs=0), []

    def handle(request):
        requests.append(request)
        return owner.transport.handler(request)

    client(httpx.MockTransport(handle)).deliver([done(number) for number in range(2 * RESULTS_PER_REQUEST + 1)])
    assert len(requests) == 3
    assert len(owner.deliveries) == 2 * RESULTS_PER_REQUEST + 1


def test_token_is_sent_as_bearer(monkeypatch):
    seen = []

    def handle(request):
        seen.append(request.headers.get("authorization"))
        return httpx.Response(200, json={"lost": []})

    transport = httpx.MockTransport(handle)
    client(transport).heartbeat([], {})
    client(transport, token="abc").heartbeat([], {})
    monkeypatch.setenv("SEXTANT_TOKEN", "xyz")
    client(transport).heartbeat([], {})
    assert seen == [None, "Bearer abc", "Bearer xyz"]


def test_spooled_results_stay_until_the_server_has_them(tmp_path):
    spool.write(tmp_path, done(2))
    spool.write(tmp_path, done(1))

    def refuse(_):
        raise httpx.ConnectError("refused")

    with pytest.raises(ServerGoneError):
        client(httpx.MockTransport(refuse), patience_seconds=0.0).deliver_spooled(tmp_path)
    assert spool.read(tmp_path) == (done(1), done(2))
    owner = Owner(jobs=0)
    assert client(owner.transport).deliver_spooled(tmp_path) == 2
    assert [result["job_id"] for result in owner.deliveries] == [1, 2]
    assert spool.read(tmp_path) == ()


def test_spool_ignores_a_file_that_a_crash_left_half_written(tmp_path):
    spool.write(tmp_path, done(1))
    (tmp_path / ".2-1.999").write_text('{"job_id": 2, "att')
    assert spool.read(tmp_path) == (done(1),)


def test_spool_of_a_new_folder_is_empty(tmp_path):
    assert spool.read(tmp_path / "absent") == ()


def refusing(owner: Owner, status: int):
    """The owner, but whatever holds the result of job 2 is answered with `status`."""

    def handle(request: httpx.Request) -> httpx.Response:
        if any(one["job_id"] == 2 for one in json.loads(request.content).get("results", [])):
            return httpx.Response(status, text="no")
        return owner.transport.handler(request)

    return httpx.MockTransport(handle)


def test_a_result_that_the_server_will_never_take_is_set_aside_and_stops_no_other(tmp_path):
    owner = Owner(jobs=0)
    for number in (1, 2, 3):
        spool.write(tmp_path, done(number))
    assert client(refusing(owner, 422)).deliver_spooled(tmp_path) == 2
    assert [result["job_id"] for result in owner.deliveries] == [1, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["2-1.refused"]


def test_a_wrong_token_leaves_the_spool_as_it_is(tmp_path):
    spool.write(tmp_path, done(2))
    with pytest.raises(RejectedError):
        client(refusing(Owner(jobs=0), 401)).deliver_spooled(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["2-1.json"]


def test_a_spooled_file_that_is_no_result_is_set_aside(tmp_path):
    spool.write(tmp_path, done(1))
    (tmp_path / "7-1.json").write_text('{"job_id": 7, "atte')
    assert [result.job_id for result in spool.read(tmp_path)] == [1]
    assert (tmp_path / "7-1.refused").exists()


def test_a_result_is_delivered_even_if_the_disk_has_no_room(tmp_path):
    owner = Owner(jobs=0)
    (tmp_path / "file").write_text("no folder")
    assert client(owner.transport).hand_in(tmp_path / "file" / "spool", done(5)) == 1
    assert [result["job_id"] for result in owner.deliveries] == [5]


def test_numbers_that_json_cannot_hold_never_reach_the_spool(tmp_path):
    result = Result(job_id=1, attempt=1, status="done", metrics={"accuracy": float("nan"), "loss": 1.0})
    spool.write(tmp_path, result)
    assert spool.read(tmp_path)[0].metrics == {"loss": 1.0}
