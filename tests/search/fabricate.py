"""Fabricated candidates, claims and results for tests of the store's protocol."""

from hashlib import sha256
from itertools import count

from designspace.job import Job, Result
from search import leases, ledger
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
        facts={"parameters": 1000.0},
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
