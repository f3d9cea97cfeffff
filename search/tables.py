"""The tables of the store: the only record of what was proposed, trained and measured.

Identity has two layers. A *candidate* is unique by its fingerprint in the whole store; a *proposal* links it to one
study. A *job* (candidate, task, protocol, steps, seed, rung) is unique in the whole store too, so no study ever trains
what another one trained; `proposal_job` says which proposals wait for it. A *result* is unique per job; every try, late
and failed ones too, is an *attempt*.
"""

from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

StudyState = Literal["running", "paused", "stopped", "done"]
ProposalState = Literal["proposed", "rejected", "duplicate", "replayed", "running", "done", "failed", "cancelled"]
JobState = Literal["queued", "leased", "done", "failed", "cancelled"]
AttemptState = Literal["leased", "done", "diverged", "failed", "oom", "timeout", "lost", "cancelled"]

FINGERPRINT_LENGTH = 12
NAME_LENGTH = 200
STATE_LENGTH = 16
NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time; a naive one is refused, since two machines would read it differently."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """The time in UTC.

        Raises:
            ValueError: the time has no zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"A stored time needs a time zone, got {value!r}; use datetime.now(UTC).")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """The time with its zone, which SQLite does not keep."""
        return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """Common ground of the tables: constraint names that a migration can refer to."""

    metadata = MetaData(naming_convention=NAMING_CONVENTION)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: UtcDateTime,
        dict[str, Any]: JSON,
        list[Any]: JSON(none_as_null=True),
    }


class StudyRow(Base):
    """A search: its space, its state and its budget, which is taken in the transaction that spends it."""

    __tablename__ = "study"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    reason: Mapped[str | None] = mapped_column(Text)
    space: Mapped[dict[str, Any]]
    trial_budget: Mapped[int]
    job_budget: Mapped[int | None]
    second_budget: Mapped[float | None]
    trials_taken: Mapped[int]
    jobs_taken: Mapped[int]
    seconds_spent: Mapped[float]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class CandidateRow(Base):
    """A design, whoever proposed it first, with the newest counts of its findings."""

    __tablename__ = "candidate"

    id: Mapped[int] = mapped_column(primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(FINGERPRINT_LENGTH), unique=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    spec: Mapped[dict[str, Any]]
    errors: Mapped[int]
    warnings: Mapped[int]
    infos: Mapped[int]
    created_at: Mapped[datetime]


class ProposalRow(Base):
    """One ask of a study's sampler: the point, what the checkers said, and what came of it."""

    __tablename__ = "proposal"
    __table_args__ = (
        UniqueConstraint("study_id", "number"),
        Index(None, "study_id", "state"),
        Index(None, "study_id", "candidate_id"),
        Index(None, "candidate_id"),
        Index(None, "duplicate_of"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("study.id"))
    candidate_id: Mapped[int] = mapped_column(ForeignKey("candidate.id"))
    number: Mapped[int]
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    duplicate_of: Mapped[int | None] = mapped_column(ForeignKey("proposal.id"))
    parameters: Mapped[dict[str, Any]]
    distributions: Mapped[dict[str, Any]]
    report: Mapped[dict[str, Any]]
    values: Mapped[list[Any] | None]
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class JobRow(Base):
    """One training run to be made once.

    `steps` 0 means the protocol's own number. `facts` are the sizes of the model as this run trains it.
    """

    __tablename__ = "job"
    __table_args__ = (
        UniqueConstraint("candidate_id", "task", "protocol", "steps", "seed", "rung"),
        Index(None, "state", "lease_until"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    candidate_id: Mapped[int] = mapped_column(ForeignKey("candidate.id"))
    task: Mapped[str] = mapped_column(String(NAME_LENGTH))
    protocol: Mapped[str] = mapped_column(String(NAME_LENGTH))
    steps: Mapped[int]
    seed: Mapped[int]
    rung: Mapped[int]
    facts: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    attempt: Mapped[int]
    owner: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    lease_until: Mapped[datetime | None]
    paid_by: Mapped[int | None] = mapped_column(ForeignKey("study.id"))
    created_at: Mapped[datetime]


class ProposalJobRow(Base):
    """A proposal waits for a job; two studies may wait for the same one."""

    __tablename__ = "proposal_job"
    __table_args__ = (Index(None, "job_id"),)

    proposal_id: Mapped[int] = mapped_column(ForeignKey("proposal.id"), primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("job.id"), primary_key=True)


class ProvenanceRow(Base):
    """Where results come from (commit, packages, hardware), once per distinct origin."""

    __tablename__ = "provenance"

    id: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    data: Mapped[dict[str, Any]]


class AttemptRow(Base):
    """One lease of a job and what came of it; `late` marks a delivery after the job had moved on."""

    __tablename__ = "attempt"
    __table_args__ = (UniqueConstraint("job_id", "number"), Index(None, "worker", "claim_key"))

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("job.id"))
    study_id: Mapped[int] = mapped_column(ForeignKey("study.id"))
    number: Mapped[int]
    worker: Mapped[str] = mapped_column(String(NAME_LENGTH))
    claim_key: Mapped[str] = mapped_column(String(NAME_LENGTH))
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    late: Mapped[bool]
    delivered: Mapped[bool]
    error: Mapped[str | None] = mapped_column(Text)
    metrics: Mapped[dict[str, Any]]
    seconds: Mapped[float]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class ResultRow(Base):
    """The one measurement of a job; the curve is zlib-compressed JSON."""

    __tablename__ = "result"

    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("job.id"), unique=True)
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempt.id"))
    provenance_id: Mapped[int] = mapped_column(ForeignKey("provenance.id"))
    status: Mapped[str] = mapped_column(String(STATE_LENGTH))
    accuracy: Mapped[float]
    metrics: Mapped[dict[str, Any]]
    curve: Mapped[bytes] = mapped_column(LargeBinary)
    error: Mapped[str | None] = mapped_column(Text)
    seconds: Mapped[float]
    created_at: Mapped[datetime]


class SummaryRow(Base):
    """Running mean and sum of squared deviations (M2) of the accuracy over seeds, kept in the result's transaction."""

    __tablename__ = "summary"
    __table_args__ = (
        UniqueConstraint("candidate_id", "task", "protocol", "steps", "rung"),
        Index(None, "task", "mean"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    candidate_id: Mapped[int] = mapped_column(ForeignKey("candidate.id"))
    task: Mapped[str] = mapped_column(String(NAME_LENGTH))
    protocol: Mapped[str] = mapped_column(String(NAME_LENGTH))
    steps: Mapped[int]
    rung: Mapped[int]
    n: Mapped[int]
    mean: Mapped[float]
    m2: Mapped[float]
    diverged: Mapped[int]
    facts: Mapped[dict[str, Any]]
    tokens: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]
    updated_at: Mapped[datetime]


class EventRow(Base):
    """One change of state; rows are only ever added."""

    __tablename__ = "event"
    __table_args__ = (Index(None, "study_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(NAME_LENGTH))
    study_id: Mapped[int | None] = mapped_column(ForeignKey("study.id"))
    proposal_id: Mapped[int | None] = mapped_column(ForeignKey("proposal.id"))
    job_id: Mapped[int | None] = mapped_column(ForeignKey("job.id"))
    data: Mapped[dict[str, Any]]
