"""Leases: one owner per job, exact budgets, and exactly one result whatever is delivered when."""

import statistics
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from conftest import ManualClock
from fabricate import PLAN, claim, draft, result, study
from sqlalchemy import func, select

from designspace.job import Job, Result
from search import leases, ledger
from search.store import Store
from search.tables import AttemptRow, EventRow, JobRow, ResultRow, SummaryRow

ONE_JOB = ledger.Plan(tasks=("recall",), seeds=(0,))


def one_job(store: Store) -> Job:
    """The leased job of a study with one job."""
    ledger.propose(store, study(store).id, draft("a"), ONE_JOB)
    return claim(store).jobs[0]


def count(store: Store, table: type) -> int:
    with store.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def state(store: Store, job: Job) -> str:
    with store.read() as session:
        return session.get_one(JobRow, job.id).state


def test_racing_workers_never_share_a_job(store: Store) -> None:
    one = study(store)
    for number in range(20):
        ledger.propose(store, one.id, draft(str(number)), PLAN)
    workers = 8
    barrier = Barrier(workers)

    def take(worker: int) -> list[int]:
        barrier.wait()
        taken: list[int] = []
        while jobs := claim(store, f"w{worker}", most=3, key=f"{worker}-{len(taken)}").jobs:
            taken += [job.id for job in jobs]
        return taken

    with ThreadPoolExecutor(workers) as pool:
        taken = [job for jobs in pool.map(take, range(workers)) for job in jobs]
    assert sorted(taken) == list(range(1, 81))


def test_racing_workers_take_exactly_the_job_budget(store: Store) -> None:
    one = study(store, jobs=37)
    for number in range(20):
        ledger.propose(store, one.id, draft(str(number)), PLAN)
    with ThreadPoolExecutor(4) as pool:
        claims = list(pool.map(lambda worker: claim(store, f"w{worker}", most=15), range(4)))
    assert sum(len(each.jobs) for each in claims) == 37
    assert ledger.study(store, "s").jobs_taken == 37


def test_a_retry_is_not_paid_twice(store: Store) -> None:
    one = study(store, jobs=1)
    ledger.propose(store, one.id, draft("a"), PLAN)
    leases.complete(store, [result(claim(store).jobs[0], status="failed")])
    assert claim(store, most=64).jobs[0].attempt == 2
    assert ledger.study(store, "s").jobs_taken == 1


def test_the_same_key_returns_the_same_leases(store: Store) -> None:
    ledger.propose(store, study(store).id, draft("a"), PLAN)
    first = claim(store, most=2, key="k").jobs
    assert claim(store, most=2, key="k").jobs == first
    assert claim(store, "other", most=64, key="k").jobs != first
    assert count(store, AttemptRow) == 4


def test_a_second_delivery_changes_nothing(store: Store) -> None:
    job = one_job(store)
    assert leases.complete(store, [result(job)]).accepted == (job.id,)
    events = count(store, EventRow)
    assert leases.complete(store, [result(job, accuracy=0.9)]).duplicate == (job.id,)
    with store.read() as session:
        assert session.scalars(select(ResultRow.accuracy)).all() == [0.5]
        assert session.scalars(select(SummaryRow.n)).all() == [1]
    assert count(store, EventRow) == events


def test_simultaneous_deliveries_record_one_result(store: Store) -> None:
    job = one_job(store)
    barrier = Barrier(4)

    def deliver(_: int) -> leases.Receipt:
        barrier.wait()
        return leases.complete(store, [result(job)])

    with ThreadPoolExecutor(4) as pool:
        receipts = list(pool.map(deliver, range(4)))
    assert sum(len(receipt.accepted) for receipt in receipts) == 1
    assert count(store, ResultRow) == 1


def test_an_expired_lease_goes_to_the_next_worker(store: Store, clock: ManualClock) -> None:
    job = one_job(store)
    clock.advance(leases.LEASE_SECONDS + 1)
    assert leases.sweep(store) == 1
    again = claim(store, "next").jobs[0]
    assert (again.id, again.attempt) == (job.id, 2)


def test_a_heartbeat_keeps_the_lease(store: Store, clock: ManualClock) -> None:
    job = one_job(store)
    for _ in range(5):
        clock.advance(leases.LEASE_SECONDS / 2)
        assert leases.heartbeat(store, "w", [leases.Lease(job_id=job.id, attempt=1)]) == ()
        assert leases.sweep(store) == 0


def test_a_late_heartbeat_revives_a_lease_nobody_else_took(store: Store, clock: ManualClock) -> None:
    job = one_job(store)
    clock.advance(leases.LEASE_SECONDS + 1)
    leases.sweep(store)
    assert leases.heartbeat(store, "w", [leases.Lease(job_id=job.id, attempt=1)]) == ()
    assert claim(store, "next").jobs == ()
    assert leases.complete(store, [result(job)]).accepted == (job.id,)


def test_a_lost_lease_is_told_to_its_old_owner(store: Store, clock: ManualClock) -> None:
    job = one_job(store)
    clock.advance(leases.LEASE_SECONDS + 1)
    leases.sweep(store)
    claim(store, "next")
    assert leases.heartbeat(store, "w", [leases.Lease(job_id=job.id, attempt=1)]) == (job.id,)
    assert leases.heartbeat(store, "w", [leases.Lease(job_id=job.id, attempt=2)]) == (job.id,)


def test_a_late_result_becomes_the_result_if_there_is_none(store: Store, clock: ManualClock) -> None:
    job = one_job(store)
    clock.advance(leases.LEASE_SECONDS + 1)
    leases.sweep(store)
    second = claim(store, "next").jobs[0]
    assert leases.complete(store, [result(job, accuracy=0.7)]).accepted == (job.id,)
    assert leases.heartbeat(store, "next", [leases.Lease(job_id=job.id, attempt=2)]) == (job.id,)
    assert leases.complete(store, [result(second, accuracy=0.1)]).duplicate == (job.id,)
    with store.read() as session:
        attempts = session.execute(select(AttemptRow.late, AttemptRow.metrics).order_by(AttemptRow.number)).all()
        assert [(late, metrics["accuracy"]) for late, metrics in attempts] == [(True, 0.7), (True, 0.1)]
        assert session.scalars(select(ResultRow.accuracy)).all() == [0.7]


def test_a_result_for_a_job_that_was_never_leased_is_unknown(store: Store) -> None:
    job = one_job(store)
    other = job.model_copy(update={"id": 99})
    never = job.model_copy(update={"attempt": 7})
    assert leases.complete(store, [result(other), result(never)]).unknown == (99, job.id)
    assert count(store, ResultRow) == 0


@pytest.mark.parametrize(("status", "attempts"), leases.ATTEMPTS.items())
def test_a_job_fails_after_as_many_attempts_as_allowed(store: Store, status: str, attempts: int) -> None:
    job = one_job(store)
    for number in range(1, attempts + 1):
        assert job.attempt == number
        leases.complete(store, [result(job, status=status)])
        if number < attempts:
            job = claim(store).jobs[0]
    assert state(store, job) == "failed"
    assert claim(store).jobs == ()


def test_a_job_that_is_given_back_is_never_used_up(store: Store) -> None:
    job = one_job(store)
    for _ in range(10):
        leases.complete(store, [result(job, status="cancelled")])
        job = claim(store).jobs[0]
    assert job.attempt == 11


def test_a_diverged_run_is_a_measurement_at_chance(store: Store) -> None:
    job = one_job(store)
    leases.complete(store, [result(job, status="diverged", accuracy=float("nan"))])
    assert state(store, job) == "done"
    with store.read() as session:
        assert session.execute(select(SummaryRow.mean, SummaryRow.diverged)).one() == (0.125, 1)


def test_the_summary_equals_the_statistics_of_its_results(store: Store) -> None:
    values = [0.3, 0.9, 0.5, 0.55, 0.2]
    plan = ledger.Plan(tasks=("recall",), seeds=tuple(range(len(values))))
    ledger.propose(store, study(store).id, draft("a"), plan)
    jobs = claim(store, most=64).jobs
    leases.complete(store, [result(job, accuracy=value) for job, value in zip(jobs, values, strict=True)])
    with store.read() as session:
        row = session.scalars(select(SummaryRow)).one()
    assert (row.n, row.tokens) == (5, 500)
    assert row.mean == pytest.approx(statistics.mean(values))
    assert row.m2 / 4 == pytest.approx(statistics.variance(values))


def test_a_restarted_owner_takes_all_leases_back_at_no_cost(store: Store) -> None:
    for number in range(10):
        job = one_job(store) if number == 0 else claim(store).jobs[0]
        assert leases.release_all(store, "The owner restarted.") == 1
    assert state(store, job) == "queued"
    assert ledger.study(store, "s").jobs_taken == 1


def test_a_paused_study_gives_no_jobs_and_a_stopped_one_sends_workers_home(store: Store) -> None:
    ledger.propose(store, study(store).id, draft("a"), PLAN)
    for new_state, done in (("paused", False), ("stopped", True), ("running", False)):
        ledger.set_state(store, "s", new_state)
        taken = claim(store)
        assert taken.done is done
        assert bool(taken.jobs) is (new_state == "running")


@pytest.mark.parametrize(
    ("status", "metrics"),
    [
        ("done", {"chance": 0.1}),
        ("done", {"accuracy": float("nan"), "chance": 0.1}),
        ("done", {"accuracy": 7.0}),
        ("diverged", {"accuracy": 0.5}),
    ],
)
def test_a_measurement_without_its_number_is_a_failure_and_no_number_is_made_up(
    store: Store, status: str, metrics: dict[str, float]
) -> None:
    ledger.propose(store, study(store).id, draft("a"), PLAN)
    job = claim(store).jobs[0]
    sent = Result.model_validate({"job_id": job.id, "attempt": 1, "status": status, "metrics": metrics})
    assert leases.complete(store, [sent]).accepted == (job.id,)
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(ResultRow)) == 0
        assert session.scalars(select(AttemptRow.error)).one().startswith(f"The {status} run sent no")
        assert session.get_one(JobRow, job.id).state == "queued"


def test_absurd_tokens_do_not_stop_a_delivery(store: Store) -> None:
    ledger.propose(store, study(store).id, draft("a"), PLAN)
    job = claim(store).jobs[0]
    sent = result(job).model_copy(update={"metrics": {"accuracy": 0.5, "tokens": 1e300}})
    assert leases.complete(store, [sent]).accepted == (job.id,)
