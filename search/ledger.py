"""Studies and their proposals: what was asked for, what was refused, what waits for which jobs, how it ended.

proposed -> rejected                       the checkers refuse it: it never gets a job
         -> duplicate                      this study already has the candidate; it shares that proposal's values
         -> replayed                       every result it needs was in the store
         -> running -> done                every job has its result
                    -> failed              a job failed in every allowed attempt
                    -> cancelled           the budget ended first
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from pydantic import Field
from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.orm import Session

from designspace.errors import SpecError
from designspace.events import quoted
from designspace.job import Record
from search.store import Store
from search.tables import (
    NAME_LENGTH,
    CandidateRow,
    JobRow,
    JobState,
    ProposalJobRow,
    ProposalRow,
    ProposalState,
    ResultRow,
    StudyRow,
    StudyState,
)

Facts = Mapping[str, Mapping[str, float]]  # sizes by task
ENDED_JOBS: tuple[JobState, ...] = ("done", "failed")


class Budget(Record):
    """What a study may spend; each unit is taken in the transaction that uses it.

    `trials` counts distinct candidates that pass the checkers, trained or replayed. `jobs` counts training runs, where
    a repeated attempt is the same run. `seconds` is training time summed over all attempts and workers.
    """

    trials: int = Field(ge=1)
    jobs: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, gt=0)


class Plan(Record):
    """The jobs of every candidate of a study: each task with each seed."""

    tasks: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field(min_length=1)
    protocol: str = "tiny"
    steps: int | None = None
    rung: int = 0


class Draft(Record):
    """A proposal before it is recorded: the point, the candidate, and what the checkers said.

    `facts` are the sizes of the model, by task, as the plan's protocol trains it.
    """

    fingerprint: str
    name: str
    spec: dict[str, Any]
    report: dict[str, Any]
    rejected: bool
    facts: dict[str, dict[str, float]] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=dict)
    distributions: dict[str, str] = Field(default_factory=dict)


class Study(Record):
    """A study as stored."""

    id: int
    name: str
    state: StudyState
    reason: str | None
    space: dict[str, Any]
    budget: Budget
    trials_taken: int
    jobs_taken: int
    seconds_spent: float
    created_at: datetime
    updated_at: datetime


class Proposal(Record):
    """A proposal as stored, with the candidate it names."""

    id: int
    number: int
    state: ProposalState
    duplicate_of: int | None
    fingerprint: str
    name: str
    spec: dict[str, Any]
    parameters: dict[str, Any]
    distributions: dict[str, Any]
    report: dict[str, Any]
    values: tuple[float, ...] | None
    created_at: datetime
    finished_at: datetime | None


class Counts(Record):
    """How many proposals and jobs stand in each state."""

    proposals: dict[ProposalState, int]
    jobs: dict[JobState, int]
    results: int


class Running(Record):
    """A job in the hands of a worker."""

    job_id: int
    name: str
    fingerprint: str
    task: str
    seed: int
    worker: str | None


class Score(Record):
    """The stored measurement of one job of a proposal."""

    task: str
    seed: int
    status: str
    accuracy: float
    metrics: dict[str, Any]
    facts: dict[str, Any]


def create_study(store: Store, name: str, *, space: dict[str, Any], budget: Budget) -> Study:
    """A new running study.

    Raises:
        SpecError: a study of this name exists, or it is no name.
    """
    if not name.isprintable() or name.strip() != name or name.startswith("-") or not 0 < len(name) <= NAME_LENGTH:
        raise SpecError(f"{quoted(name)} is no name for a study; give 1 to {NAME_LENGTH} letters, digits or `-_.`.")
    now = store.now()
    with store.write() as session:
        if _find_study(session, name):
            raise SpecError(f"Study `{name}` exists in {store.url}; resume it, or choose another name.")
        row = StudyRow(
            name=name,
            state="running",
            space=space,
            trial_budget=budget.trials,
            job_budget=budget.jobs,
            second_budget=budget.seconds,
            trials_taken=0,
            jobs_taken=0,
            seconds_spent=0.0,
            created_at=now,
            updated_at=now,
        )
        session.add(row)
        session.flush()
        store.log(session, "study.created", {"name": name, "budget": budget.model_dump()}, study_id=row.id)
        return _study(row)


def study(store: Store, name: str) -> Study:
    """The study called `name`.

    Raises:
        SpecError: there is none; the message lists those there are.
    """
    with store.read() as session:
        row = _find_study(session, name)
        if row is None:
            known = ", ".join(session.scalars(select(StudyRow.name).order_by(StudyRow.name))) or "none yet"
            raise SpecError(f"No study `{name}` in {store.url}; it holds: {known}.")
        return _study(row)


def studies(store: Store) -> list[Study]:
    """Every study, oldest first."""
    with store.read() as session:
        return [_study(row) for row in session.scalars(select(StudyRow).order_by(StudyRow.id))]


def set_state(store: Store, name: str, state: StudyState, *, reason: str | None = None) -> Study:
    """The study after it was put into `state`."""
    with store.write() as session:
        row = session.scalars(select(StudyRow).where(StudyRow.name == name).with_for_update()).one()
        _set_state(store, session, row, state, reason)
        return _study(row)


def extend_budget(store: Store, name: str, budget: Budget) -> Study:
    """The study with another budget; what is taken stays taken."""
    with store.write() as session:
        row = session.scalars(select(StudyRow).where(StudyRow.name == name).with_for_update()).one()
        row.trial_budget, row.job_budget, row.second_budget = budget.trials, budget.jobs, budget.seconds
        store.log(session, "study.budget", budget.model_dump(), study_id=row.id)
        return _study(row)


def propose(store: Store, study_id: int, draft: Draft, plan: Plan) -> Proposal:
    """The recorded proposal: rejected, duplicate, replayed, or running with its jobs queued, in one transaction.

    Raises:
        ValueError: the candidate is new and passes, but the study has no trial left.
    """
    with store.write() as session:
        owner = session.scalars(select(StudyRow).where(StudyRow.id == study_id).with_for_update()).one()
        candidate = _candidate(store, session, draft)
        original = _earlier(session, study_id, candidate.id)
        row = _new_proposal(store, session, draft, study_id=study_id, candidate_id=candidate.id)
        if draft.rejected:
            _settle(store, session, row, "rejected")
        elif original is not None:
            row.duplicate_of = original.id
            _settle(store, session, row, "duplicate")
        else:
            _admit(store, session, row, owner=owner, plan=plan, facts=draft.facts)
        return _proposal(row, candidate)


def finishable(store: Store, study_id: int) -> list[Proposal]:
    """Running proposals whose jobs have all ended, and replayed ones without values, in the order of their numbers."""
    waiting = (
        select(ProposalJobRow.proposal_id)
        .join(JobRow, JobRow.id == ProposalJobRow.job_id)
        .where(ProposalJobRow.proposal_id == ProposalRow.id, JobRow.state.not_in(ENDED_JOBS))
    )
    query = (
        select(ProposalRow, CandidateRow)
        .join(CandidateRow, CandidateRow.id == ProposalRow.candidate_id)
        .where(ProposalRow.study_id == study_id, _is_open(), ~waiting.exists())
        .order_by(ProposalRow.number)
    )
    with store.read() as session:
        return [_proposal(row, candidate) for row, candidate in session.execute(query)]


def _is_open() -> ColumnElement[bool]:
    replayed_without_values = (ProposalRow.state == "replayed") & ProposalRow.values.is_(None)
    return (ProposalRow.state == "running") | replayed_without_values


def finish(store: Store, proposal_id: int, state: ProposalState, values: Sequence[float] | None = None) -> bool:
    """True if the proposal was running, or replayed without values, and now ends in `state`; False if it had ended."""
    with store.write() as session:
        row = session.scalars(select(ProposalRow).where(ProposalRow.id == proposal_id).with_for_update()).one()
        if row.values is not None or row.state not in ("running", "replayed"):
            return False
        row.values = None if values is None else list(values)
        _settle(store, session, row, state)
        return True


def end_study(store: Store, name: str, reason: str) -> Study:
    """The study after its end: what still waits is cancelled, and so is every queued job nobody else waits for."""
    with store.write() as session:
        row = session.scalars(select(StudyRow).where(StudyRow.name == name).with_for_update()).one()
        open_proposals = select(ProposalRow).where(ProposalRow.study_id == row.id, ProposalRow.state == "running")
        for proposal in session.scalars(open_proposals):
            _settle(store, session, proposal, "cancelled")
        session.flush()
        wanted = (
            select(ProposalJobRow.job_id)
            .join(ProposalRow, ProposalRow.id == ProposalJobRow.proposal_id)
            .where(ProposalRow.state == "running")
        )
        session.execute(
            update(JobRow).where(JobRow.state == "queued", JobRow.id.not_in(wanted)).values(state="cancelled")
        )
        _set_state(store, session, row, "done", reason)
        return _study(row)


def proposals(store: Store, study_id: int, *states: ProposalState) -> list[Proposal]:
    """The study's proposals in the order of their numbers; only those in `states` where some are given."""
    query = (
        select(ProposalRow, CandidateRow)
        .join(CandidateRow, CandidateRow.id == ProposalRow.candidate_id)
        .where(ProposalRow.study_id == study_id)
        .order_by(ProposalRow.number)
    )
    if states:
        query = query.where(ProposalRow.state.in_(states))
    with store.read() as session:
        return [_proposal(row, candidate) for row, candidate in session.execute(query)]


def proposal(store: Store, proposal_id: int) -> Proposal:
    """The proposal with this id."""
    with store.read() as session:
        row = session.get_one(ProposalRow, proposal_id)
        return _proposal(row, session.get_one(CandidateRow, row.candidate_id))


def duplicates(store: Store, proposal_id: int) -> list[int]:
    """Numbers of the proposals that share this one's values."""
    query = select(ProposalRow.number).where(ProposalRow.duplicate_of == proposal_id).order_by(ProposalRow.number)
    with store.read() as session:
        return list(session.scalars(query))


def scores(store: Store, proposal_id: int) -> list[Score]:
    """The measurements that the proposal's jobs have so far, by task and seed."""
    query = (
        select(JobRow, ResultRow)
        .join(ResultRow, ResultRow.job_id == JobRow.id)
        .join(ProposalJobRow, ProposalJobRow.job_id == JobRow.id)
        .where(ProposalJobRow.proposal_id == proposal_id)
        .order_by(JobRow.task, JobRow.seed)
    )
    with store.read() as session:
        return [
            Score(
                task=job.task,
                seed=job.seed,
                status=row.status,
                accuracy=row.accuracy,
                metrics=row.metrics,
                facts=job.facts,
            )
            for job, row in session.execute(query)
        ]


def running(store: Store, study_id: int) -> list[Running]:
    """The study's leased jobs."""
    query = (
        select(JobRow, CandidateRow)
        .join(CandidateRow, CandidateRow.id == JobRow.candidate_id)
        .where(JobRow.state == "leased", JobRow.id.in_(_own_jobs(study_id)))
        .order_by(JobRow.id)
    )
    with store.read() as session:
        return [
            Running(
                job_id=job.id,
                name=candidate.name,
                fingerprint=candidate.fingerprint,
                task=job.task,
                seed=job.seed,
                worker=job.owner,
            )
            for job, candidate in session.execute(query)
        ]


def counts(store: Store, study_id: int) -> Counts:
    """How many proposals, jobs and results the study has, by state."""
    own_jobs = _own_jobs(study_id)
    by_proposal = (
        select(ProposalRow.state, func.count()).where(ProposalRow.study_id == study_id).group_by(ProposalRow.state)
    )
    by_job = select(JobRow.state, func.count()).where(JobRow.id.in_(own_jobs)).group_by(JobRow.state)
    with store.read() as session:
        proposal_counts = dict(session.execute(by_proposal).all())
        job_counts = dict(session.execute(by_job).all())
        results = session.scalar(select(func.count()).select_from(ResultRow).where(ResultRow.job_id.in_(own_jobs)))
    return Counts(
        proposals={state: proposal_counts.get(state, 0) for state in get_args(ProposalState)},
        jobs={state: job_counts.get(state, 0) for state in get_args(JobState)},
        results=results or 0,
    )


def _own_jobs(study_id: int) -> Select[int]:
    """Ids of the jobs that proposals of the study ever waited for."""
    return (
        select(ProposalJobRow.job_id)
        .join(ProposalRow, ProposalRow.id == ProposalJobRow.proposal_id)
        .where(ProposalRow.study_id == study_id)
    )


def _find_study(session: Session, name: str) -> StudyRow | None:
    return session.scalars(select(StudyRow).where(StudyRow.name == name)).one_or_none()


def _set_state(store: Store, session: Session, row: StudyRow, state: StudyState, reason: str | None) -> None:
    row.state, row.reason, row.updated_at = state, reason, store.now()
    store.log(session, f"study.{state}", {"reason": reason}, study_id=row.id)


def _candidate(store: Store, session: Session, draft: Draft) -> CandidateRow:
    """The row of the draft's fingerprint, made if need be, with the newest finding counts."""
    row = session.scalars(select(CandidateRow).where(CandidateRow.fingerprint == draft.fingerprint)).one_or_none()
    if row is None:
        row = CandidateRow(fingerprint=draft.fingerprint, name=draft.name, spec=draft.spec, created_at=store.now())
        session.add(row)
    summary = draft.report.get("summary", {})
    row.errors = summary.get("errors", 0)
    row.warnings = summary.get("warnings", 0)
    row.infos = summary.get("infos", 0)
    session.flush()
    return row


def _earlier(session: Session, study_id: int, candidate_id: int) -> ProposalRow | None:
    """The study's first proposal of the candidate that was neither rejected nor itself a duplicate."""
    query = (
        select(ProposalRow)
        .where(
            ProposalRow.study_id == study_id,
            ProposalRow.candidate_id == candidate_id,
            ProposalRow.state.not_in(("rejected", "duplicate")),
        )
        .order_by(ProposalRow.number)
        .limit(1)
    )
    return session.scalars(query).one_or_none()


def _new_proposal(store: Store, session: Session, draft: Draft, *, study_id: int, candidate_id: int) -> ProposalRow:
    last = session.scalar(select(func.max(ProposalRow.number)).where(ProposalRow.study_id == study_id))
    row = ProposalRow(
        study_id=study_id,
        candidate_id=candidate_id,
        number=0 if last is None else last + 1,
        state="proposed",
        parameters=draft.parameters,
        distributions=draft.distributions,
        report=draft.report,
        created_at=store.now(),
    )
    session.add(row)
    session.flush()
    store.log(session, "proposal.proposed", {"fingerprint": draft.fingerprint}, study_id=study_id, proposal_id=row.id)
    return row


def _settle(store: Store, session: Session, row: ProposalRow, state: ProposalState) -> None:
    row.state = state
    row.finished_at = store.now()
    data = {"values": row.values, "duplicate_of": row.duplicate_of}
    store.log(session, f"proposal.{state}", data, study_id=row.study_id, proposal_id=row.id)


def _admit(store: Store, session: Session, row: ProposalRow, *, owner: StudyRow, plan: Plan, facts: Facts) -> None:
    """Take one trial of the budget and queue the jobs that no one has made yet."""
    if owner.trials_taken >= owner.trial_budget:
        raise ValueError(f"Study `{owner.name}` has used its {owner.trial_budget} trials; extend its budget first.")
    owner.trials_taken += 1
    jobs = [
        _job(store, session, row, plan=plan, task=task, seed=seed, facts=facts.get(task, {}))
        for task in plan.tasks
        for seed in plan.seeds
    ]
    session.add_all(ProposalJobRow(proposal_id=row.id, job_id=job.id) for job in jobs)
    if all(job.state == "done" for job in jobs):
        _settle(store, session, row, "replayed")
    else:
        row.state = "running"
        data = {"jobs": [job.id for job in jobs]}
        store.log(session, "proposal.running", data, study_id=owner.id, proposal_id=row.id)


def _job(
    store: Store,
    session: Session,
    proposal: ProposalRow,
    *,
    plan: Plan,
    task: str,
    seed: int,
    facts: Mapping[str, float],
) -> JobRow:
    key = {
        "candidate_id": proposal.candidate_id,
        "task": task,
        "protocol": plan.protocol,
        "steps": plan.steps or 0,
        "seed": seed,
        "rung": plan.rung,
    }
    row = session.scalars(select(JobRow).filter_by(**key)).one_or_none()
    if row is None:
        row = JobRow(**key, facts=dict(facts), state="queued", attempt=0, created_at=store.now())
        session.add(row)
    elif row.state in ("cancelled", "failed"):  # a new study may try again what an earlier one could not, and pays
        row.state, row.paid_by = "queued", None
    else:
        return row
    session.flush()
    store.log(session, "job.queued", study_id=proposal.study_id, proposal_id=proposal.id, job_id=row.id)
    return row


def _study(row: StudyRow) -> Study:
    return Study.model_validate(
        {
            "id": row.id,
            "name": row.name,
            "state": row.state,
            "reason": row.reason,
            "space": row.space,
            "budget": Budget(trials=row.trial_budget, jobs=row.job_budget, seconds=row.second_budget),
            "trials_taken": row.trials_taken,
            "jobs_taken": row.jobs_taken,
            "seconds_spent": row.seconds_spent,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
        }
    )


def _proposal(row: ProposalRow, candidate: CandidateRow) -> Proposal:
    return Proposal.model_validate(
        {
            "id": row.id,
            "number": row.number,
            "state": row.state,
            "duplicate_of": row.duplicate_of,
            "fingerprint": candidate.fingerprint,
            "name": candidate.name,
            "spec": candidate.spec,
            "parameters": row.parameters,
            "distributions": row.distributions,
            "report": row.report,
            "values": row.values,
            "created_at": row.created_at,
            "finished_at": row.finished_at,
        }
    )
