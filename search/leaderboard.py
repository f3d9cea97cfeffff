"""The leaderboard: what was measured, with intervals over seeds, sizes, and counts of findings.

A row is a candidate under one protocol. Its sizes are those of the model as it was trained, which the protocol sets.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field
from sqlalchemy import select

from designspace.errors import SpecError
from designspace.events import nearest, quoted
from designspace.job import Record
from search.expression import predicate
from search.statistics import Estimate, Moments, mean_of_means, of_moments
from search.store import Store
from search.tables import CandidateRow, ProposalRow, StudyRow, SummaryRow

LARGER_IS_BETTER = frozenset({"accuracy", "low", "high", "n", "tasks"})


class Row(Record):
    """A candidate under one protocol.

    Attributes:
        accuracy: mean over tasks of the mean over seeds; a diverged run counts at chance.
        half_width, low, high: 95 % interval of `accuracy` over seeds; None with a single seed.
        n: seeds per task, the smallest number.
        tasks: tasks measured; rows that lack one of the board's come last.
        by_task: the estimate of each task.
        diverged: runs that diverged.
        parameters, state_bytes, decode_macs: of the trained model, the largest over tasks; state_bytes is all decoding
            memory at the trained length; None where the store does not know them.
        tokens, seconds: of one run, the mean.
        errors, warnings, infos: findings of the newest report.
    """

    name: str
    fingerprint: str
    protocol: str
    accuracy: float
    half_width: float | None
    low: float | None
    high: float | None
    n: int
    tasks: int
    by_task: dict[str, Estimate]
    diverged: int
    parameters: float | None
    state_bytes: float | None
    decode_macs: float | None
    tokens: float
    seconds: float
    errors: int
    warnings: int
    infos: int


COLUMNS: tuple[str, ...] = tuple(name for name in Row.model_fields if name != "by_task")


class Query(Record):
    """What to show.

    Attributes:
        task: one task; None averages over all that were measured.
        study: candidates that this study proposed.
        where: a filter expression over the columns.
        sort: a column, best first; a leading `-` turns it round.
        pareto: columns; only rows that no other row beats in all of them stay.
        limit: rows at most.
    """

    task: str | None = None
    study: str | None = None
    where: str | None = None
    sort: str = "accuracy"
    pareto: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)


class Board(Record):
    """The rows of a query, and the tasks they were measured on."""

    tasks: tuple[str, ...]
    rows: tuple[Row, ...]


def leaderboard(store: Store, query: Query | None = None) -> Board:
    """The rows that `query` asks for.

    Raises:
        SpecError: an unknown task, study or column, or a filter that cannot be read.
    """
    query = query or Query()
    _check_columns((query.sort.removeprefix("-"), *query.pareto))
    keep = predicate(query.where, COLUMNS) if query.where else None
    groups, tasks = _groups(store, query)
    rows = [_row(candidate, summaries) for candidate, summaries in groups]
    if keep is not None:
        rows = [row for row in rows if keep(row.model_dump())]
    if query.pareto:
        rows = pareto(rows, query.pareto)
    return Board(tasks=tasks, rows=tuple(_sorted(rows, query.sort))[: query.limit])


def pareto(rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    """Rows that no other row matches in all `columns` and beats in one; rows with an empty cell there are left out."""
    points = [(row, point) for row in rows if (point := _costs(row, columns)) is not None]
    return [row for row, point in points if not any(_dominates(other, point) for _, other in points)]


def to_csv(board: Board) -> str:
    """The board with one line per row, and the mean and half width of each task at the end."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"{task}{end}" for task in board.tasks for end in ("", "_half_width"))])
    for row in board.rows:
        writer.writerow([getattr(row, column) for column in COLUMNS] + _task_cells(row, board.tasks))
    return text.getvalue()


def _groups(store: Store, query: Query) -> tuple[list[tuple[CandidateRow, list[SummaryRow]]], tuple[str, ...]]:
    """Summaries by candidate and protocol, and all tasks among them."""
    statement = select(CandidateRow, SummaryRow).join(SummaryRow, SummaryRow.candidate_id == CandidateRow.id)
    with store.read() as session:
        if query.study is not None:
            study_id = session.scalar(select(StudyRow.id).where(StudyRow.name == query.study))
            if study_id is None:
                raise SpecError(f"No study {quoted(query.study)} in {store.url}; `sextant search list` shows them.")
            own = select(ProposalRow.candidate_id).where(ProposalRow.study_id == study_id)
            statement = statement.where(CandidateRow.id.in_(own))
        found = session.execute(statement.order_by(SummaryRow.task)).all()
    tasks = sorted({summary.task for _, summary in found})
    if query.task is not None:
        if query.task not in tasks and found:
            raise SpecError(f"No results on {quoted(query.task)}; the store has {', '.join(tasks)}.")
        tasks = [task for task in tasks if task == query.task]
    groups: dict[tuple[int, str, int, int], tuple[CandidateRow, list[SummaryRow]]] = {}
    for candidate, summary in found:
        if summary.task in tasks:
            key = (candidate.id, summary.protocol, summary.steps, summary.rung)
            groups.setdefault(key, (candidate, []))[1].append(summary)
    return list(groups.values()), tuple(tasks)


def _row(candidate: CandidateRow, summaries: list[SummaryRow]) -> Row:
    moments = {summary.task: Moments(summary.n, summary.mean, summary.m2) for summary in summaries}
    overall = mean_of_means(list(moments.values()))
    runs = sum(summary.n for summary in summaries)
    steps = summaries[0].steps
    return Row(
        name=candidate.name,
        fingerprint=candidate.fingerprint,
        protocol=f"{summaries[0].protocol}/{steps}" if steps else summaries[0].protocol,
        accuracy=overall.mean,
        half_width=overall.half_width,
        low=overall.low,
        high=overall.high,
        n=overall.n,
        tasks=len(summaries),
        by_task={task: of_moments(one) for task, one in moments.items()},
        diverged=sum(summary.diverged for summary in summaries),
        parameters=_largest(summaries, "parameters"),
        state_bytes=_largest(summaries, "state_bytes"),
        decode_macs=_largest(summaries, "decode_macs"),
        tokens=sum(summary.tokens for summary in summaries) / runs,
        seconds=sum(summary.seconds for summary in summaries) / runs,
        errors=candidate.errors,
        warnings=candidate.warnings,
        infos=candidate.infos,
    )


def _largest(summaries: Iterable[SummaryRow], fact: str) -> float | None:
    known = [float(summary.facts[fact]) for summary in summaries if fact in summary.facts]
    return max(known, default=None)


def _check_columns(names: Iterable[str]) -> None:
    for name in names:
        if name not in COLUMNS:
            close = nearest(name, COLUMNS)
            remedy = f"did you mean `{close}`?" if close else f"columns are {', '.join(COLUMNS)}."
            raise SpecError(f"{quoted(name)} is not a column; {remedy}")


def _sorted(rows: Sequence[Row], sort: str) -> list[Row]:
    """Rows with all tasks first, then by the column, then by fingerprint; empty cells last."""
    column = sort.removeprefix("-")
    falling = (column in LARGER_IS_BETTER) != sort.startswith("-")
    rows = sorted(rows, key=lambda row: (row.fingerprint, row.protocol))
    filled = [row for row in rows if getattr(row, column) is not None]
    empty = [row for row in rows if getattr(row, column) is None]
    ordered = sorted(filled, key=lambda row: getattr(row, column), reverse=falling) + empty
    return sorted(ordered, key=lambda row: -row.tasks)


def _costs(row: Row, columns: Sequence[str]) -> tuple[float, ...] | None:
    """The row's values, smaller is better; None if one is empty."""
    values = [getattr(row, column) for column in columns]
    text = next((column for column, value in zip(columns, values, strict=True) if isinstance(value, str)), None)
    if text is not None:
        raise SpecError(f"`{text}` has no better and worse; a Pareto front needs columns of numbers.")
    if any(value is None for value in values):
        return None
    return tuple(-value if column in LARGER_IS_BETTER else value for column, value in zip(columns, values, strict=True))


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(left <= right for left, right in zip(one, other, strict=True))


def _task_cells(row: Row, tasks: Sequence[str]) -> list[Any]:
    cells: list[Any] = []
    for task in tasks:
        one = row.by_task.get(task)
        cells += [None, None] if one is None else [one.mean, one.half_width]
    return cells
