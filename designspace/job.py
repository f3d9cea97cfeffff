"""What crosses between the owner of the store, the executor and the evaluators: jobs out, results back."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Status = Literal["done", "diverged", "failed", "oom", "timeout", "lost", "cancelled"]


class Record(BaseModel):
    """A frozen value; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Job(Record):
    """One training run: a candidate on a task with a seed.

    `spec` is the whole candidate as `Candidate.model_dump(mode="json")`, so a job suffices to repeat the run.
    """

    id: int
    attempt: int = Field(ge=1)
    fingerprint: str
    spec: dict[str, Any]
    task: str
    protocol: str = "tiny"
    seed: int
    rung: int = 0
    steps: int | None = Field(default=None, ge=1, description="Optimizer steps; None takes the protocol's.")


class Progress(Record):
    """A point of the learning curve; `train` yields one per evaluation."""

    step: int
    steps: int
    loss: float
    validation_accuracy: float | None = None
    tokens: int
    seconds: float


class Result(Record):
    """What one job measured, or why it measured nothing.

    `metrics` of a finished run holds at least: accuracy (micro, per token), accuracy_macro (mean over classes), loss
    (test cross-entropy in nats), validation_accuracy, parameters, state_bytes, tokens, steps, and `chance`.
    """

    job_id: int
    attempt: int
    status: Status
    metrics: dict[str, float] = {}
    curve: tuple[Progress, ...] = ()
    error: str | None = None
    error_step: int | None = None
    seconds: float = 0.0
    provenance: dict[str, str] = {}
