"""The queue: jobs are leased, kept alive, delivered or taken back. Execution is at least once, recording exactly once.

    queued -> leased -> done        a result was recorded (a diverged run is a measurement too)
                     -> queued      the attempt failed, was lost or was given back, and another is allowed
                     -> failed      it was not

A diverged run predicts no better than guessing, so it counts as finished with its accuracy at the task's chance level;
its status stays `diverged`, and summaries count such runs apart.
"""

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from designspace.job import MAX_ID, Job, Record, Result, Status
from search.store import Store
from search.tables import (
    AttemptRow,
    CandidateRow,
    JobRow,
    ProposalJobRow,
    ProposalRow,
    ProvenanceRow,
    ResultRow,
    StudyRow,
    SummaryRow,
)

LEASE_SECONDS = 60.0
MAX_CLAIM = 64
SCORES: dict[Status, str] = {"done": "accuracy", "diverged": "chance"}  # the metric by which a measurement counts
MAX_TOKENS = 2**53  # of a run; what no run reads
ATTEMPTS: dict[Status, int] = {"failed": 2, "oom": 2, "timeout": 2, "lost": 5}
"""Attempts of a job that may end this way before it fails; a cancelled attempt (given back) costs nothing."""


class ClaimRequest(Record):
    """A worker asks for up to `max` jobs; the same key again returns the same leases."""

    worker: str = Field(min_length=1, max_length=200)
    max: int = Field(default=1, ge=1, le=MAX_CLAIM)
    idempotency_key: str = Field(min_length=1, max_length=200)
    study: str | None = Field(default=None, max_length=200)


class Claim(Record):
    """Leased jobs; `done` tells the worker that no more will come."""

    jobs: tuple[Job, ...]
    lease_seconds: float
    done: bool


class Lease(Record):
    """A job in the hands of a worker."""

    job_id: int = Field(ge=0, le=MAX_ID)
    attempt: int = Field(ge=1, le=MAX_ID)


class Receipt(Record):
    """What became of delivered results: new ones, ones the store had already, ones it never leased."""

    accepted: tuple[int, ...] = ()
    duplicate: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()


def claim(store: Store, request: ClaimRequest, *, lease_seconds: float = LEASE_SECONDS) -> Claim:
    """Leases for up to `request.max` queued jobs of running studies, paid for in the same transaction."""
    with store.write() as session:
        jobs = _granted(session, request)
        if not jobs:
            jobs = _grant(store, session, request, lease_seconds)
        return Claim(
            jobs=_jobs(session, jobs),
            lease_seconds=lease_seconds,
            done=not jobs and _all_ended(session, request.study),
        )


def heartbeat(
    store: Store, worker: str, leases: Sequence[Lease], *, lease_seconds: float = LEASE_SECONDS
) -> tuple[int, ...]:
    """Ids of the jobs that are no longer the worker's; all the others are leased for another `lease_seconds`.

    A lease that ran out is given back to its worker as long as nobody else took the job.
    """
    until = store.now() + timedelta(seconds=lease_seconds)
    with store.write() as session:
        return tuple(lease.job_id for lease in leases if not _renew(store, session, worker, lease, until))


def complete(store: Store, results: Sequence[Result]) -> Receipt:
    """The receipt for delivered results, recorded in one transaction with attempts, summaries and events.

    A second delivery changes nothing. A late one, of a lease that was taken back, stays as an attempt and becomes the
    result if the job has none.
    """
    outcome: dict[str, list[int]] = {"accepted": [], "duplicate": [], "unknown": []}
    with store.write() as session:
        payers = {study.id: study for study in _payers(session, results)}
        for result in map(_sound, results):
            with session.no_autoflush:  # one flush per result in place of one per query
                outcome[_deliver(store, session, result, payers)].append(result.job_id)
            session.flush()
    return Receipt(**{name: tuple(ids) for name, ids in outcome.items()})


def sweep(store: Store) -> int:
    """The number of leases that had run out and were taken back."""
    with store.write() as session:
        expired = select(JobRow).where(JobRow.state == "leased", JobRow.lease_until < store.now())
        rows = session.scalars(expired.with_for_update(skip_locked=True)).all()
        for row in rows:
            _take_back(store, session, row, status="lost", error="The lease ran out without a heartbeat.")
        return len(rows)


def release_all(store: Store, reason: str) -> int:
    """The number of leases taken back at no cost; for a starting owner, whom no earlier worker can reach."""
    with store.write() as session:
        rows = session.scalars(select(JobRow).where(JobRow.state == "leased").with_for_update()).all()
        for row in rows:
            _take_back(store, session, row, status="cancelled", error=reason)
        return len(rows)


def release_dead(store: Store, suffix: str) -> int:
    """The number of leases taken back from workers whose names end in `suffix`, since their process is known dead."""
    with store.write() as session:
        held = select(JobRow).where(JobRow.state == "leased", JobRow.owner.endswith(suffix, autoescape=True))
        rows = session.scalars(held.with_for_update()).all()
        for row in rows:
            _take_back(store, session, row, status="lost", error="The worker's process died.")
        return len(rows)


def curve(store: Store, job_id: int) -> list[dict[str, Any]]:
    """The learning curve of a job's result; empty without a result."""
    with store.read() as session:
        packed = session.scalar(select(ResultRow.curve).where(ResultRow.job_id == job_id))
    return [] if packed is None else list(json.loads(zlib.decompress(packed)))


def _granted(session: Session, request: ClaimRequest) -> list[JobRow]:
    """Jobs that this key was given before and that the worker still holds."""
    query = (
        select(JobRow)
        .join(AttemptRow, (AttemptRow.job_id == JobRow.id) & (AttemptRow.number == JobRow.attempt))
        .where(
            AttemptRow.worker == request.worker,
            AttemptRow.claim_key == request.idempotency_key,
            JobRow.state == "leased",
        )
        .order_by(JobRow.id)
    )
    return list(session.scalars(query))


def _grant(store: Store, session: Session, request: ClaimRequest, lease_seconds: float) -> list[JobRow]:
    query = select(StudyRow).where(StudyRow.state == "running").order_by(StudyRow.id).with_for_update()
    if request.study is not None:
        query = query.where(StudyRow.name == request.study)
    jobs: list[JobRow] = []
    for study in session.scalars(query).all():
        for row in _payable(session, study, request.max - len(jobs)):
            _lease(store, session, row, study=study, request=request, lease_seconds=lease_seconds)
            jobs.append(row)
    return jobs


def _payable(session: Session, study: StudyRow, limit: int) -> list[JobRow]:
    """Queued jobs the study waits for and can pay; a repeated attempt is paid already."""
    if limit <= 0 or (study.second_budget is not None and study.seconds_spent >= study.second_budget):
        return []
    query = (
        select(JobRow)
        .join(ProposalJobRow, ProposalJobRow.job_id == JobRow.id)
        .join(ProposalRow, ProposalRow.id == ProposalJobRow.proposal_id)
        .where(ProposalRow.study_id == study.id, ProposalRow.state == "running", JobRow.state == "queued")
        .order_by(JobRow.id)
        .with_for_update(skip_locked=True, of=JobRow)
    )
    if study.job_budget is None:
        return list(session.scalars(query.limit(limit)))
    paid = list(session.scalars(query.where(JobRow.paid_by.is_not(None)).limit(limit)))
    units = min(limit - len(paid), study.job_budget - study.jobs_taken)
    return paid + list(session.scalars(query.where(JobRow.paid_by.is_(None)).limit(max(units, 0))))


def _lease(
    store: Store, session: Session, row: JobRow, *, study: StudyRow, request: ClaimRequest, lease_seconds: float
) -> None:
    now = store.now()
    if row.paid_by is None:
        row.paid_by = study.id
        study.jobs_taken += 1
    row.state, row.owner, row.attempt = "leased", request.worker, row.attempt + 1
    row.lease_until = now + timedelta(seconds=lease_seconds)
    session.add(
        AttemptRow(
            job_id=row.id,
            study_id=study.id,
            number=row.attempt,
            worker=request.worker,
            claim_key=request.idempotency_key,
            state="leased",
            late=False,
            delivered=False,
            metrics={},
            seconds=0.0,
            started_at=now,
        )
    )
    data = {"worker": request.worker, "attempt": row.attempt}
    store.log(session, "job.leased", data, study_id=study.id, job_id=row.id)


def _jobs(session: Session, rows: Sequence[JobRow]) -> tuple[Job, ...]:
    wanted = select(CandidateRow).where(CandidateRow.id.in_({row.candidate_id for row in rows}))
    candidates = {candidate.id: candidate for candidate in session.scalars(wanted)} if rows else {}
    return tuple(
        Job(
            id=row.id,
            attempt=row.attempt,
            fingerprint=candidates[row.candidate_id].fingerprint,
            spec=candidates[row.candidate_id].spec,
            task=row.task,
            protocol=row.protocol,
            seed=row.seed,
            rung=row.rung,
            steps=row.steps or None,
        )
        for row in rows
    )


def _all_ended(session: Session, study: str | None) -> bool:
    query = select(func.count()).select_from(StudyRow).where(StudyRow.state.in_(("running", "paused")))
    if study is not None:
        query = query.where(StudyRow.name == study)
    return session.scalar(query) == 0


def _renew(store: Store, session: Session, worker: str, lease: Lease, until: datetime) -> bool:
    row = session.scalars(select(JobRow).where(JobRow.id == lease.job_id).with_for_update()).one_or_none()
    if row is None or row.attempt != lease.attempt or row.state not in ("leased", "queued"):
        return False
    attempt = _attempt(session, lease.job_id, lease.attempt)
    if attempt is None or attempt.worker != worker or attempt.delivered:
        return False
    if row.state == "queued":
        attempt.state, attempt.error, attempt.finished_at = "leased", None, None
        row.state, row.owner = "leased", worker
        store.log(session, "job.revived", {"worker": worker}, study_id=attempt.study_id, job_id=row.id)
    row.lease_until = until
    return True


def _payers(session: Session, results: Sequence[Result]) -> Sequence[StudyRow]:
    """The studies of the results, locked before the jobs, in the order in which every other transaction does."""
    payers = select(AttemptRow.study_id).where(AttemptRow.job_id.in_([result.job_id for result in results]))
    query = select(StudyRow).where(StudyRow.id.in_(payers)).order_by(StudyRow.id)
    return session.scalars(query.with_for_update()).all()


def _deliver(store: Store, session: Session, result: Result, payers: Mapping[int, StudyRow]) -> str:
    job = session.scalars(select(JobRow).where(JobRow.id == result.job_id).with_for_update()).one_or_none()
    attempt = _attempt(session, result.job_id, result.attempt)
    if job is None or attempt is None:
        return "unknown"
    if attempt.delivered:
        return "duplicate"
    is_current = job.state == "leased" and job.attempt == result.attempt
    had_result = job.state == "done"
    payers[attempt.study_id].seconds_spent += result.seconds
    _close_attempt(store, session, attempt, result, late=not is_current)
    if had_result:
        return "duplicate"
    if result.status in SCORES:
        _record(store, session, job, attempt, result)
    elif is_current:
        _retry_or_fail(store, session, job, status=result.status, study_id=attempt.study_id)
    return "accepted"


def _sound(result: Result) -> Result:
    """The result, or a failure in place of a measurement without a number: none is made up for it."""
    metric = SCORES.get(result.status)
    if metric is None or 0.0 <= result.metrics.get(metric, math.nan) <= 1.0:
        return result
    error = f"The {result.status} run sent no `{metric}` between 0 and 1, got {result.metrics.get(metric)}."
    return result.model_copy(update={"status": "failed", "error": error})


def _attempt(session: Session, job_id: int, number: int) -> AttemptRow | None:
    query = select(AttemptRow).where(AttemptRow.job_id == job_id, AttemptRow.number == number)
    return session.scalars(query.with_for_update()).one_or_none()


def _close_attempt(store: Store, session: Session, attempt: AttemptRow, result: Result, *, late: bool) -> None:
    attempt.state, attempt.late, attempt.delivered = result.status, late, True
    attempt.error, attempt.seconds, attempt.finished_at = result.error, result.seconds, store.now()
    attempt.metrics = dict(result.metrics)
    data = {"attempt": result.attempt, "status": result.status, "late": late, "error": result.error}
    store.log(session, "job.delivered", data, study_id=attempt.study_id, job_id=attempt.job_id)


def _record(store: Store, session: Session, job: JobRow, attempt: AttemptRow, result: Result) -> None:
    metrics, accuracy = dict(result.metrics), result.metrics[SCORES[result.status]]
    points = [point.model_dump(mode="json") for point in result.curve]
    session.add(
        ResultRow(
            job_id=job.id,
            attempt_id=attempt.id,
            provenance_id=_provenance(session, result.provenance).id,
            status=result.status,
            accuracy=accuracy,
            metrics=metrics,
            curve=zlib.compress(json.dumps(points).encode()),
            error=result.error,
            seconds=result.seconds,
            created_at=store.now(),
        )
    )
    job.state, job.owner, job.lease_until = "done", None, None
    _summarise(store, session, job, result, accuracy=accuracy, tokens=int(min(metrics.get("tokens", 0), MAX_TOKENS)))
    data = {"attempt": attempt.number, "status": result.status, "accuracy": accuracy}
    store.log(session, "job.done", data, study_id=attempt.study_id, job_id=job.id)


def _summarise(store: Store, session: Session, job: JobRow, result: Result, *, accuracy: float, tokens: int) -> None:
    """Welford's update of the mean and of M2, the sum of squared deviations."""
    key = {
        "candidate_id": job.candidate_id,
        "task": job.task,
        "protocol": job.protocol,
        "steps": job.steps,
        "rung": job.rung,
    }
    row = session.scalars(select(SummaryRow).filter_by(**key).with_for_update()).one_or_none()
    if row is None:
        row = SummaryRow(**key, n=0, mean=0.0, m2=0.0, diverged=0, facts=job.facts, tokens=0, seconds=0.0)
        session.add(row)
    row.n += 1
    delta = accuracy - row.mean
    row.mean += delta / row.n
    row.m2 += delta * (accuracy - row.mean)
    row.diverged += result.status == "diverged"
    row.tokens += tokens
    row.seconds += result.seconds
    row.updated_at = store.now()


def _take_back(store: Store, session: Session, job: JobRow, *, status: Status, error: str) -> None:
    attempt = _attempt(session, job.id, job.attempt)
    if attempt is None:
        raise ValueError(f"Job {job.id} is leased without an attempt {job.attempt}; the store is damaged.")
    attempt.state, attempt.error, attempt.finished_at = status, error, store.now()
    data = {"attempt": job.attempt, "worker": job.owner, "error": error}
    store.log(session, f"job.{status}", data, study_id=attempt.study_id, job_id=job.id)
    _retry_or_fail(store, session, job, status=status, study_id=attempt.study_id)


def _retry_or_fail(store: Store, session: Session, job: JobRow, *, status: Status, study_id: int) -> None:
    """Queue the job again unless as many attempts as allowed ended in `status`."""
    session.flush()
    same = select(func.count()).where(AttemptRow.job_id == job.id, AttemptRow.state == status)
    failed = status in ATTEMPTS and (session.scalar(same) or 0) >= ATTEMPTS[status]
    job.state, job.owner, job.lease_until = "failed" if failed else "queued", None, None
    store.log(session, f"job.{job.state}", {"after": status}, study_id=study_id, job_id=job.id)


def _provenance(session: Session, data: dict[str, str]) -> ProvenanceRow:
    digest = sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    row = session.scalars(select(ProvenanceRow).where(ProvenanceRow.digest == digest)).one_or_none()
    if row is None:
        row = ProvenanceRow(digest=digest, data=dict(data))
        session.add(row)
        session.flush()
    return row
