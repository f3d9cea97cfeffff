"""The first tables, and the store's identity as the first event."""

from datetime import UTC, datetime
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "candidate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=12), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
        sa.Column("warnings", sa.Integer(), nullable=False),
        sa.Column("infos", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_candidate"),
        sa.UniqueConstraint("fingerprint", name="uq_candidate_fingerprint"),
    )
    op.create_table(
        "provenance",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_provenance"),
        sa.UniqueConstraint("digest", name="uq_provenance_digest"),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("space", sa.JSON(), nullable=False),
        sa.Column("trial_budget", sa.Integer(), nullable=False),
        sa.Column("job_budget", sa.Integer(), nullable=True),
        sa.Column("second_budget", sa.Double(), nullable=True),
        sa.Column("trials_taken", sa.Integer(), nullable=False),
        sa.Column("jobs_taken", sa.Integer(), nullable=False),
        sa.Column("seconds_spent", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_study"),
        sa.UniqueConstraint("name", name="uq_study_name"),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("candidate_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(length=200), nullable=False),
        sa.Column("protocol", sa.String(length=200), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("rung", sa.Integer(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paid_by", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidate.id"], name="fk_job_candidate_id_candidate"),
        sa.ForeignKeyConstraint(["paid_by"], ["study.id"], name="fk_job_paid_by_study"),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        sa.UniqueConstraint(
            "candidate_id",
            "task",
            "protocol",
            "steps",
            "seed",
            "rung",
            name="uq_job_candidate_id_task_protocol_steps_seed_rung",
        ),
    )
    op.create_index("ix_job_state_lease_until", "job", ["state", "lease_until"], unique=False)
    op.create_table(
        "proposal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("candidate_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("duplicate_of", sa.Integer(), nullable=True),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("distributions", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("values", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidate.id"], name="fk_proposal_candidate_id_candidate"),
        sa.ForeignKeyConstraint(["duplicate_of"], ["proposal.id"], name="fk_proposal_duplicate_of_proposal"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_proposal_study_id_study"),
        sa.PrimaryKeyConstraint("id", name="pk_proposal"),
        sa.UniqueConstraint("study_id", "number", name="uq_proposal_study_id_number"),
    )
    op.create_index("ix_proposal_candidate_id", "proposal", ["candidate_id"], unique=False)
    op.create_index("ix_proposal_duplicate_of", "proposal", ["duplicate_of"], unique=False)
    op.create_index("ix_proposal_study_id_candidate_id", "proposal", ["study_id", "candidate_id"], unique=False)
    op.create_index("ix_proposal_study_id_state", "proposal", ["study_id", "state"], unique=False)
    op.create_table(
        "summary",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("candidate_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(length=200), nullable=False),
        sa.Column("protocol", sa.String(length=200), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("rung", sa.Integer(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("mean", sa.Double(), nullable=False),
        sa.Column("m2", sa.Double(), nullable=False),
        sa.Column("diverged", sa.Integer(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidate.id"], name="fk_summary_candidate_id_candidate"),
        sa.PrimaryKeyConstraint("id", name="pk_summary"),
        sa.UniqueConstraint(
            "candidate_id", "task", "protocol", "steps", "rung", name="uq_summary_candidate_id_task_protocol_steps_rung"
        ),
    )
    op.create_index("ix_summary_task_mean", "summary", ["task", "mean"], unique=False)
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=200), nullable=False),
        sa.Column("claim_key", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("delivered", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_attempt_job_id_job"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_attempt_study_id_study"),
        sa.PrimaryKeyConstraint("id", name="pk_attempt"),
        sa.UniqueConstraint("job_id", "number", name="uq_attempt_job_id_number"),
    )
    op.create_index("ix_attempt_worker_claim_key", "attempt", ["worker", "claim_key"], unique=False)
    event = op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=200), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=True),
        sa.Column("proposal_id", sa.Integer(), nullable=True),
        sa.Column("job_id", sa.Integer(), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_event_job_id_job"),
        sa.ForeignKeyConstraint(["proposal_id"], ["proposal.id"], name="fk_event_proposal_id_proposal"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_event_study_id_study"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
    )
    op.create_index("ix_event_study_id_id", "event", ["study_id", "id"], unique=False)
    op.create_table(
        "proposal_job",
        sa.Column("proposal_id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_proposal_job_job_id_job"),
        sa.ForeignKeyConstraint(["proposal_id"], ["proposal.id"], name="fk_proposal_job_proposal_id_proposal"),
        sa.PrimaryKeyConstraint("proposal_id", "job_id", name="pk_proposal_job"),
    )
    op.create_index("ix_proposal_job_job_id", "proposal_job", ["job_id"], unique=False)
    op.create_table(
        "result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("attempt_id", sa.Integer(), nullable=False),
        sa.Column("provenance_id", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("accuracy", sa.Double(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("curve", sa.LargeBinary(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempt.id"], name="fk_result_attempt_id_attempt"),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_result_job_id_job"),
        sa.ForeignKeyConstraint(["provenance_id"], ["provenance.id"], name="fk_result_provenance_id_provenance"),
        sa.PrimaryKeyConstraint("id", name="pk_result"),
        sa.UniqueConstraint("job_id", name="uq_result_job_id"),
    )
    first = {"at": datetime.now(UTC), "kind": "store.created", "data": {"identity": uuid4().hex}}
    op.bulk_insert(event, [first])


def downgrade() -> None:
    """Drop every table."""
    op.drop_table("result")
    op.drop_index("ix_proposal_job_job_id", table_name="proposal_job")
    op.drop_table("proposal_job")
    op.drop_index("ix_event_study_id_id", table_name="event")
    op.drop_table("event")
    op.drop_index("ix_attempt_worker_claim_key", table_name="attempt")
    op.drop_table("attempt")
    op.drop_index("ix_summary_task_mean", table_name="summary")
    op.drop_table("summary")
    op.drop_index("ix_proposal_study_id_state", table_name="proposal")
    op.drop_index("ix_proposal_duplicate_of", table_name="proposal")
    op.drop_index("ix_proposal_study_id_candidate_id", table_name="proposal")
    op.drop_index("ix_proposal_candidate_id", table_name="proposal")
    op.drop_table("proposal")
    op.drop_index("ix_job_state_lease_until", table_name="job")
    op.drop_table("job")
    op.drop_table("study")
    op.drop_table("provenance")
    op.drop_table("candidate")
