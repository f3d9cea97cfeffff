"""What a study looks like now: one record for the live display, `sextant search status` and the HTTP service."""

from typing import Any

from designspace.job import Record
from search import ledger
from search.ledger import Budget, Counts, Proposal, Running, Study
from search.objectives import direction
from search.store import Store
from search.tables import ProposalState, StudyState

FINISHED: tuple[ProposalState, ...] = ("done", "replayed")


class Best(Record):
    """The finished proposal with the best first objective."""

    number: int
    name: str
    fingerprint: str
    values: tuple[float, ...]


class Rejected(Record):
    """A proposal that the checkers refused, with the codes of the errors."""

    number: int
    name: str
    fingerprint: str
    codes: tuple[str, ...]


class Status(Record):
    """A study with its counts; `seconds_left` is None until something is known about the speed."""

    name: str
    state: StudyState
    reason: str | None
    budget: Budget
    trials_taken: int
    jobs_taken: int
    seconds_spent: float
    counts: Counts
    best: Best | None
    rejected: tuple[Rejected, ...]
    running: tuple[Running, ...]
    seconds_left: float | None


def status(store: Store, name: str, *, workers: int = 1) -> Status:
    """The status of the study called `name`.

    Args:
        store: where it lies.
        name: the study.
        workers: how many train at once, for the time left.

    Raises:
        SpecError: there is no such study.
    """
    study = ledger.study(store, name)
    counts = ledger.counts(store, study.id)
    return Status(
        name=study.name,
        state=study.state,
        reason=study.reason,
        budget=study.budget,
        trials_taken=study.trials_taken,
        jobs_taken=study.jobs_taken,
        seconds_spent=study.seconds_spent,
        counts=counts,
        best=_best(ledger.proposals(store, study.id, *FINISHED), maximise=_maximises(study.space)),
        rejected=tuple(_rejected(proposal) for proposal in ledger.proposals(store, study.id, "rejected")),
        running=tuple(ledger.running(store, study.id)),
        seconds_left=_seconds_left(study, counts, workers),
    )


def _maximises(space: dict[str, Any]) -> bool:
    """The first objective is better when larger."""
    objectives = space.get("objectives") or ["accuracy"]
    return direction(objectives[0]) == "maximize"


def _best(finished: list[Proposal], *, maximise: bool) -> Best | None:
    valued = [(proposal.values, proposal) for proposal in finished if proposal.values]
    if not valued:
        return None
    values, proposal = (max if maximise else min)(valued, key=lambda pair: pair[0][0])
    return Best(number=proposal.number, name=proposal.name, fingerprint=proposal.fingerprint, values=values)


def _rejected(proposal: Proposal) -> Rejected:
    findings = proposal.report.get("findings", [])
    codes = {finding["code"] for finding in findings if finding["severity"] == "error" and not finding["suppressed"]}
    return Rejected(
        number=proposal.number, name=proposal.name, fingerprint=proposal.fingerprint, codes=tuple(sorted(codes))
    )


def _seconds_left(study: Study, counts: Counts, workers: int) -> float | None:
    """Mean seconds per run times the runs that are still to be made, shared by the workers."""
    if counts.results == 0 or study.trials_taken == 0 or study.jobs_taken == 0:
        return None
    per_trial = sum(counts.jobs.values()) / study.trials_taken
    runs_left = per_trial * study.budget.trials - counts.jobs["done"] - counts.jobs["failed"]
    if study.state in ("done", "stopped"):
        return 0.0
    return max(runs_left, 0.0) * study.seconds_spent / study.jobs_taken / max(workers, 1)
