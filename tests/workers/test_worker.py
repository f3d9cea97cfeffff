"""The worker without Ray: it does all jobs, keeps leases alive, gives back, drops what it lost."""

import subprocess
import sys
import threading
import time

import httpx
import pytest
from owner import Owner

from designspace.candidate import single
from designspace.job import Progress, Result
from designspace.mixer import MixerSpec
from workers import spool
from workers.client import Client, ServerGoneError
from workers.worker import EXIT_SERVER_GONE, beat_seconds, run_worker


def point(step: int) -> Progress:
    return Progress(step=step, steps=3, loss=1.0, tokens=step, seconds=0.0)


def quick(job):
    yield point(1)
    return Result(job_id=job.id, attempt=job.attempt, status="done", metrics={"accuracy": job.seed / 10})


def work(owner: Owner, folder, evaluation=quick, **options) -> int:
    with Client("http://owner", worker="tester", transport=owner.transport, **options) as client:
        return run_worker(client, evaluation=evaluation, spool_folder=folder)


def test_every_job_is_done_once_and_nothing_stays_in_the_spool(tmp_path):
    owner = Owner(jobs=5)
    assert work(owner, tmp_path) == 5
    assert [result["job_id"] for result in owner.deliveries] == [1, 2, 3, 4, 5]
    assert list(tmp_path.iterdir()) == []


def test_results_of_an_earlier_start_are_delivered_first(tmp_path):
    owner = Owner(jobs=0)
    spool.write(tmp_path, Result(job_id=9, attempt=2, status="done"))
    assert work(owner, tmp_path) == 1
    assert owner.deliveries[0]["job_id"] == 9


def test_leases_are_renewed_with_the_newest_point_while_training(tmp_path):
    owner = Owner(jobs=1, lease_seconds=0.15)

    def slow(job):
        for step in (1, 2, 3):
            yield point(step)
            time.sleep(0.12)
        return Result(job_id=job.id, attempt=1, status="done")

    work(owner, tmp_path, slow)
    assert len(owner.beats) >= 4
    steps = [beat["progress"][0]["progress"]["step"] for beat in owner.beats if beat["progress"]]
    assert steps == sorted(steps)
    assert steps[-1] == 3


def test_a_lost_job_is_dropped_and_its_run_closed(tmp_path):
    owner, closed = Owner(jobs=1, lease_seconds=0.06), threading.Event()
    owner.lost = {1}

    def endless(_):
        try:
            while True:
                yield point(1)
                time.sleep(0.01)
        finally:
            owner.open.clear()
            closed.set()

    assert work(owner, tmp_path, endless) == 0
    assert closed.is_set()
    assert owner.deliveries == []


def test_ctrl_c_gives_the_job_back_and_ends_the_worker(tmp_path):
    owner, closed = Owner(jobs=2), threading.Event()

    def interrupted(_):
        try:
            yield point(1)
            raise KeyboardInterrupt
        finally:
            closed.set()

    with pytest.raises(KeyboardInterrupt):
        work(owner, tmp_path, interrupted)
    assert [(result["job_id"], result["status"]) for result in owner.deliveries] == [(1, "cancelled")]
    assert closed.is_set()


def test_a_server_that_vanishes_ends_the_worker_and_the_result_waits(tmp_path):
    owner, gone = Owner(jobs=1), threading.Event()

    def vanish(job):
        yield point(1)
        gone.set()
        return Result(job_id=job.id, attempt=1, status="done")

    def handle(request):
        if gone.is_set():
            raise httpx.ConnectError("refused")
        return owner.transport.handler(request)

    with (
        Client("http://owner", worker="t", transport=httpx.MockTransport(handle), patience_seconds=0.3) as client,
        pytest.raises(ServerGoneError),
    ):
        run_worker(client, evaluation=vanish, spool_folder=tmp_path)
    assert [result.job_id for result in spool.read(tmp_path)] == [1]


def test_no_thread_is_left_behind(tmp_path):
    before = threading.active_count()
    work(Owner(jobs=3, lease_seconds=0.03), tmp_path)
    assert threading.active_count() == before


def test_heartbeats_come_at_least_three_times_per_lease():
    assert beat_seconds(1.5) == pytest.approx(0.5)
    assert beat_seconds(60) <= 20


def test_the_process_trains_real_jobs_and_ends_with_the_server(tmp_path):
    owner = Owner(jobs=1)
    spec = single(MixerSpec()).model_dump(mode="json")
    owner.queue = [job.model_copy(update={"spec": spec, "steps": 2}) for job in owner.queue]
    with owner.listening() as url:
        command = [sys.executable, "-m", "workers.worker", url, "--spool", str(tmp_path), "--patience", "2"]
        assert subprocess.run(command, timeout=60).returncode == 0
    assert [(result["job_id"], result["status"]) for result in owner.deliveries] == [(1, "done")]
    assert subprocess.run(command, timeout=60).returncode == EXIT_SERVER_GONE
