"""`sextant leaderboard` and `sextant compare`: what was measured, with intervals."""

from contextlib import closing
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from search.commands import screen
from search.commands.show import size
from search.commands.study import DEFAULT_STORE, Store

if TYPE_CHECKING:
    from rich.table import Table

    from search.comparison import Compared
    from search.leaderboard import Board, Row
    from search.statistics import Estimate

DEFAULT_LIMIT = 20


class Format(StrEnum):
    """How the leaderboard is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def leaderboard(
    task: Annotated[str | None, typer.Option(help="One task; none: the mean over all.")] = None,
    study: Annotated[str | None, typer.Option(help="Candidates of one study.")] = None,
    where: Annotated[
        str | None, typer.Option(help="A filter, such as 'accuracy > 0.9 and parameters < 50000'.")
    ] = None,
    sort: Annotated[str, typer.Option(help="A column, best first; -COLUMN turns it round.")] = "accuracy",
    pareto: Annotated[str, typer.Option(help="Columns; only rows that no other beats in all of them stay.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Rows at most.")] = DEFAULT_LIMIT,
    store: Store = DEFAULT_STORE,
    output_format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
) -> None:
    """Rank what was trained: mean accuracy over seeds with its 95 % interval, and sizes.

    \b
    Example: sextant leaderboard --sort parameters
    Example: sextant leaderboard --pareto accuracy,parameters --format csv
    """
    from search.leaderboard import Query, to_csv
    from search.leaderboard import leaderboard as query_store
    from search.store import open_store

    columns = tuple(column.strip() for column in pareto.split(",") if column.strip())
    query = Query(task=task, study=study, where=where, sort=sort, pareto=columns, limit=limit)
    with closing(open_store(store, create=False)) as opened:
        board = query_store(opened, query)
    match output_format:
        case Format.TABLE:
            screen.console().print(_board(board))
        case Format.JSON:
            screen.print_json(board.model_dump(mode="json"))
        case Format.CSV:
            typer.echo(to_csv(board), nl=False)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A fingerprint, a name, catalogue:NAME or a spec file.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    task: Annotated[str | None, typer.Option(help="One task; none: each that both were trained on.")] = None,
    store: Store = DEFAULT_STORE,
    output_format: screen.Format = screen.DataFormat.TEXT,
) -> None:
    """Compare two trained candidates seed by seed: the difference with its 95 % interval.

    \b
    Example: sextant compare catalogue:softmax_rope catalogue:softmax_nope --task selective_copying
    """
    from search.comparison import compare as query_store
    from search.store import open_store

    with closing(open_store(store, create=False)) as opened:
        found = query_store(opened, first, second, task=task)
    if output_format == screen.DataFormat.JSON:
        screen.print_json(found.model_dump(mode="json"))
    else:
        screen.console().print(_compared(found))


def _board(board: "Board") -> "Table":
    tasks = board.tasks if len(board.tasks) > 1 else ()
    columns = ["candidate", "fingerprint", "accuracy", *tasks, "n", "parameters", "state", "tokens", "findings"]
    return screen.table(columns, [_row(row, tasks) for row in board.rows], title="accuracy: mean and 95 % interval")


def _row(row: "Row", tasks: tuple[str, ...]) -> list[object]:
    by_task = [interval(row.by_task[task]) if task in row.by_task else "" for task in tasks]
    overall = with_half_width(row.accuracy, row.half_width) + (f", {row.diverged} diverged" if row.diverged else "")
    parameters = None if row.parameters is None else round(row.parameters)
    state = "" if row.state_bytes is None else size(row.state_bytes)
    findings = f"{row.errors} E {row.warnings} W {row.infos} I"
    return [row.name, row.fingerprint, overall, *by_task, row.n, parameters, state, round(row.tokens), findings]


def _compared(found: "Compared") -> "Table":
    rows = [
        [
            one.task,
            one.protocol,
            interval(one.a),
            interval(one.b),
            interval(one.difference.estimate, signed=True),
            len(one.difference.seeds),
            "yes" if one.difference.decided else "no: the interval holds 0",
        ]
        for one in found.tasks
    ]
    columns = ["task", "protocol", f"A {found.a}", f"B {found.b}", "A - B", "seeds", "decided"]
    return screen.table(columns, rows, title="accuracy: mean and 95 % interval")


def interval(estimate: "Estimate", *, signed: bool = False) -> str:
    """`0.912 ± 0.034`, or the mean alone where one run allows no interval."""
    return with_half_width(estimate.mean, estimate.half_width, signed=signed)


def with_half_width(mean: float, half_width: float | None, *, signed: bool = False) -> str:
    """A mean with its half width."""
    text = f"{mean:+.3f}" if signed else f"{mean:.3f}"
    return f"{text} (one run)" if half_width is None else f"{text} ± {half_width:.3f}"
