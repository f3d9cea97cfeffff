"""Two candidates side by side: the paired difference on the seeds that both were trained with."""

from typing import NamedTuple

from sqlalchemy import select

from designspace.canonical import fingerprint
from designspace.errors import SpecError
from designspace.events import nearest, quoted
from designspace.job import Record
from designspace.specfile import CATALOGUE_PREFIX, load
from search.statistics import Difference, Estimate, estimate, paired_difference
from search.store import Store
from search.tables import CandidateRow, JobRow, ResultRow, SummaryRow

SPEC_SUFFIXES = (".yaml", ".yml", ".json")


class TaskDifference(Record):
    """Two candidates on one task: their means, and the paired difference A minus B on shared seeds."""

    task: str
    protocol: str
    a: Estimate
    b: Estimate
    difference: Difference


class Compared(Record):
    """Two candidates and what separates them."""

    a: str
    b: str
    tasks: tuple[TaskDifference, ...]


def compare(store: Store, a: str, b: str, *, task: str | None = None) -> Compared:
    """The paired difference of two candidates on every task (or one) that both were trained on.

    Args:
        store: where the results lie.
        a: a fingerprint, a name on the leaderboard, `catalogue:NAME` or a spec file.
        b: likewise.
        task: one task only.

    Raises:
        SpecError: an unknown candidate, or no seed that both were trained with.
    """
    first, second = resolve(store, a), resolve(store, b)
    values = {key: _by_seed(store, key, task) for key in (first, second)}
    shared = [key for key in values[first] if key in values[second] and values[first][key].keys() & values[second][key]]
    if not shared:
        raise SpecError(
            f"`{a}` and `{b}` share no seed{f' on `{task}`' if task else ''}; train both on the same seeds."
        )
    return Compared(
        a=a,
        b=b,
        tasks=tuple(
            TaskDifference(
                task=key.task,
                protocol=key.protocol,
                a=estimate(list(values[first][key].values())),
                b=estimate(list(values[second][key].values())),
                difference=paired_difference(values[first][key], values[second][key]),
            )
            for key in shared
        ),
    )


def resolve(store: Store, reference: str) -> str:
    """The fingerprint that `reference` means; see `compare`.

    Raises:
        SpecError: it means nothing in this store.
    """
    query = select(CandidateRow.fingerprint).where(CandidateRow.id.in_(select(SummaryRow.candidate_id)))
    with store.read() as session:
        by_name = session.scalars(query.where(CandidateRow.name == reference)).all()
        measured = set(session.scalars(query))
        names = session.scalars(select(CandidateRow.name)).all()
    if reference in measured:
        return reference
    if len(by_name) == 1:
        return by_name[0]
    if by_name:
        raise SpecError(f"{quoted(reference)} names several candidates: {', '.join(by_name)}; give a fingerprint.")
    if reference.startswith(CATALOGUE_PREFIX) or reference.endswith(SPEC_SUFFIXES):
        found = fingerprint(load(reference))
        if found in measured:
            return found
        raise SpecError(f"{quoted(reference)} ({found}) has no result in {store.url}; train it first.")
    close = nearest(reference, names)
    remedy = f"did you mean `{close}`?" if close else "`sextant leaderboard` lists them."
    raise SpecError(f"{quoted(reference)} is no candidate with results in {store.url}; {remedy}")


class _Key(NamedTuple):
    """What must be equal for runs to be comparable."""

    task: str
    protocol: str
    steps: int
    rung: int


def _by_seed(store: Store, key: str, task: str | None) -> dict[_Key, dict[int, float]]:
    """Accuracies of a candidate by task and protocol, then by seed."""
    query = (
        select(JobRow, ResultRow.accuracy)
        .join(ResultRow, ResultRow.job_id == JobRow.id)
        .join(CandidateRow, CandidateRow.id == JobRow.candidate_id)
        .where(CandidateRow.fingerprint == key)
        .order_by(JobRow.task, JobRow.protocol, JobRow.seed)
    )
    if task is not None:
        query = query.where(JobRow.task == task)
    found: dict[_Key, dict[int, float]] = {}
    with store.read() as session:
        for job, accuracy in session.execute(query):
            found.setdefault(_Key(job.task, job.protocol, job.steps, job.rung), {})[job.seed] = accuracy
    return found
