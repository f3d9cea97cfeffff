"""Fabricated candidates, claims and results for tests of the store's protocol."""

import json
from hashlib import sha256
from itertools import count

import yaml

from designspace.candidate import Candidate
from designspace.document import parse
from designspace.job import Job, Result
from search import leases, ledger
from search.judge import Judgement
from search.space import Space, space_of
from search.store import Store

PLAN = ledger.Plan(tasks=("recall", "copying"), seeds=(0, 1))
_keys = count()


def draft(name: str, *, rejected: bool = False) -> ledger.Draft:
    """A proposal of a candidate known by its name only."""
    return ledger.Draft(
        fingerprint=sha256(name.encode()).hexdigest()[:12],
        name=name,
        spec={"name": name},
        report={"summary": {"errors": int(rejected), "warnings": 1, "infos": 0}},
        rejected=rejected,
        facts={task: {"parameters": 1000.0, "state_bytes": 64.0} for task in PLAN.tasks},
    )


def study(store: Store, *, name: str = "s", trials: int = 100, jobs: int | None = None) -> ledger.Study:
    return ledger.create_study(store, name, space={}, budget=ledger.Budget(trials=trials, jobs=jobs))


def claim(store: Store, worker: str = "w", *, most: int = 1, key: str | None = None) -> leases.Claim:
    """A claim under a fresh key unless one is given."""
    request = leases.ClaimRequest(worker=worker, max=most, idempotency_key=key or f"key-{next(_keys)}")
    return leases.claim(store, request)


def result(job: Job, *, accuracy: float = 0.5, status: str = "done") -> Result:
    metrics = {"accuracy": accuracy, "chance": 0.125, "tokens": 100.0}
    return Result.model_validate(
        {"job_id": job.id, "attempt": job.attempt, "status": status, "metrics": metrics, "seconds": 1.0}
    )


SPACE = """
name: demo
model: {model_dim: 64, vocab_size: 16}
blocks:
  - repeat: 2
    mixer:
      readout: {choice: [{kind: exponential}, {kind: identity}, {kind: relu}]}
      normalization: {kind: {choice: [sum, none]}}
      scaling: {base: {choice: [1, n^-1/2]}}
      heads: {num_heads: 4, state_dim: 16, head_dim: 16}
      io: {short_conv: {width: {range: [8, 32], int: true, log: true}, "on": [k]}}
tasks: [in_context_recall, selective_copying]
budget: {trials: 12}
"""


def space(text: str = SPACE, **settings: object) -> Space:
    """A small space; `settings` replace keys of the file."""
    data = yaml.safe_load(text) | settings
    return space_of(parse(json.dumps(data), "space.json"))


def judge(candidate: Candidate) -> Judgement:
    """Rejects unscaled scores; `parameters` is the width of the convolution; the fingerprint leaves out the name."""
    mixer = candidate.blocks[0].mixers[0]
    text = candidate.model_copy(update={"name": "x"}).model_dump_json()
    return Judgement(
        fingerprint=sha256(text.encode()).hexdigest()[:12],
        report={"findings": [], "summary": {"errors": int(mixer.scaling.base == 1)}},
        rejected=mixer.scaling.base == 1,
        facts={
            task: {"parameters": float(mixer.io.short_conv.width), "state_bytes": 1.0, "decode_macs": 1.0}
            for task in ("in_context_recall", "selective_copying")
        },
    )


def accuracy(job: Job) -> float:
    """A made-up score that depends on the job alone: relu is good, and so is a wide convolution."""
    mixer = Candidate.model_validate(job.spec).blocks[0].mixers[0]
    return 0.3 * (mixer.readout.kind == "relu") + mixer.io.short_conv.width / 100 + 0.01 * job.seed


def work(store: Store, most: int = 64) -> int:
    """Run what is queued; the number of runs."""
    jobs = claim(store, most=most).jobs
    leases.complete(store, [result(job, accuracy=accuracy(job)) for job in jobs])
    return len(jobs)
