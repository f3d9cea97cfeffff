"""What crosses between the owner of the store, the executor and the evaluators: jobs out, results back."""

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator

MAX_ID = 2**63 - 1  # of a database
MAX_STEPS = 20_000  # a user may ask for: the published schedule of MAD; their sequences are drawn before the first step

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
    loss: FiniteFloat
    validation_accuracy: float | None = None
    tokens: int
    seconds: float


class Result(Record):
    """What one job measured, or why it measured nothing.

    `metrics` holds finite numbers only, of a finished run at least: accuracy (micro, per token), accuracy_macro (mean
    over classes), loss (test cross-entropy in nats), validation_accuracy, parameters, state_bytes, tokens, steps, and
    `chance`.
    """

    job_id: int = Field(ge=0, le=MAX_ID)
    attempt: int = Field(ge=1, le=MAX_ID)
    status: Status
    metrics: dict[str, float] = {}
    curve: tuple[Progress, ...] = ()
    error: str | None = None
    error_step: int | None = None
    seconds: FiniteFloat = Field(default=0.0, ge=0, le=1e9)
    provenance: dict[str, str] = {}

    @field_validator("metrics")
    @classmethod
    def _leave_out_what_json_cannot_hold(cls, metrics: dict[str, float]) -> dict[str, float]:
        return {name: value for name, value in metrics.items() if math.isfinite(value)}
