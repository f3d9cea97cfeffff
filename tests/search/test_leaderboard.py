"""The leaderboard against hand-made results: intervals, order, filters, Pareto fronts, and comparisons."""

import csv
import statistics

import pytest
from fabricate import claim, draft, result, study
from scipy import stats

from designspace.errors import SpecError
from search import leases, ledger
from search.comparison import compare, resolve
from search.leaderboard import COLUMNS, Query, leaderboard, pareto, to_csv
from search.store import Store

TASKS = ("copying", "recall")
# accuracy by candidate, task, seed
MEASURED = {
    "good": {"copying": (0.8, 0.9, 0.7), "recall": (1.0, 0.9, 0.95)},
    "middle": {"copying": (0.5, 0.6, 0.45), "recall": (0.9, 0.8, 0.85)},
    "bad": {"copying": (0.1, 0.1, 0.1), "recall": (0.2, 0.2, 0.2)},
}
SIZES = {"good": 3000.0, "middle": 1000.0, "bad": 2000.0}


@pytest.fixture
def filled(store: Store) -> Store:
    one = study(store)
    for name in MEASURED:
        sized = {task: {"parameters": SIZES[name], "state_bytes": 64.0} for task in TASKS}
        plan = ledger.Plan(tasks=TASKS, seeds=(0, 1, 2))
        ledger.propose(store, one.id, draft(name).model_copy(update={"facts": sized}), plan)
    for job in claim(store, most=64).jobs:
        leases.complete(store, [result(job, accuracy=MEASURED[job.spec["name"]][job.task][job.seed])])
    return store


def names(store: Store, **query: object) -> list[str]:
    return [row.name for row in leaderboard(store, Query.model_validate(query)).rows]


def test_a_row_holds_mean_interval_sizes_and_findings(filled: Store) -> None:
    row = leaderboard(filled, Query(task="copying")).rows[0]
    values = MEASURED["good"]["copying"]
    half = stats.t.ppf(0.975, 2) * statistics.stdev(values) / 3**0.5
    assert (row.name, row.n, row.tasks, row.parameters, row.tokens) == ("good", 3, 1, 3000, 100)
    assert (row.accuracy, row.half_width) == pytest.approx((statistics.mean(values), half))
    assert (row.errors, row.warnings, row.infos) == (0, 1, 0)


def test_without_a_task_the_mean_is_over_tasks(filled: Store) -> None:
    board = leaderboard(filled)
    assert board.tasks == TASKS
    assert board.rows[0].accuracy == pytest.approx((0.8 + 0.95) / 2)
    assert board.rows[0].by_task["recall"].mean == pytest.approx(0.95)
    assert board.rows[2].half_width == 0.0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["good", "middle", "bad"]),
        ({"sort": "-accuracy"}, ["bad", "middle", "good"]),
        ({"sort": "parameters"}, ["middle", "bad", "good"]),
        ({"sort": "name"}, ["bad", "good", "middle"]),
        ({"limit": 1}, ["good"]),
        ({"where": "parameters < 2500 and accuracy > 0.2"}, ["middle"]),
        ({"pareto": ("accuracy", "parameters")}, ["good", "middle"]),
        ({"study": "s"}, ["good", "middle", "bad"]),
    ],
)
def test_queries(filled: Store, query: dict[str, object], expected: list[str]) -> None:
    assert names(filled, **query) == expected


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"sort": "acuracy"}, "did you mean `accuracy`"),
        ({"pareto": ("accuracy", "size")}, "`size` is not a column"),
        ({"pareto": ("name",)}, "no better and worse"),
        ({"task": "copy"}, "copying, recall"),
        ({"study": "other"}, "No study"),
        ({"where": "size > 1"}, "unknown column"),
    ],
)
def test_mistakes_are_named(filled: Store, query: dict[str, object], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        leaderboard(filled, Query.model_validate(query))


def test_a_row_that_lacks_a_task_comes_last(filled: Store) -> None:
    one = ledger.study(filled, "s")
    ledger.propose(filled, one.id, draft("half"), ledger.Plan(tasks=("recall",), seeds=(0,)))
    leases.complete(filled, [result(job, accuracy=1.0) for job in claim(filled, most=64).jobs])
    row = leaderboard(filled).rows[-1]
    assert (row.name, row.tasks, row.n, row.half_width, row.low) == ("half", 1, 1, None, None)
    assert names(filled, where="half_width < 1")[-1] == "bad"


def test_the_front_is_what_no_row_dominates(filled: Store) -> None:
    rows = list(leaderboard(filled).rows)
    front = {row.name for row in pareto(rows, ("accuracy", "parameters"))}
    by_hand = {
        row.name
        for row in rows
        if not any(
            other.accuracy >= row.accuracy and SIZES[other.name] <= SIZES[row.name] and other != row for other in rows
        )
    }
    assert front == by_hand


def test_csv_reads_back(filled: Store) -> None:
    lines = list(csv.DictReader(to_csv(leaderboard(filled)).splitlines()))
    assert list(lines[0]) == [*COLUMNS, "copying", "copying_half_width", "recall", "recall_half_width"]
    assert float(lines[0]["recall"]) == pytest.approx(0.95)


def test_an_empty_store_has_an_empty_board(store: Store) -> None:
    assert leaderboard(store, Query(task="recall")).rows == ()


def test_a_comparison_pairs_the_seeds(filled: Store) -> None:
    [copying, recall] = compare(filled, "good", "middle").tasks
    pairs = zip(MEASURED["good"]["copying"], MEASURED["middle"]["copying"], strict=True)
    expected = stats.ttest_rel(MEASURED["good"]["copying"], MEASURED["middle"]["copying"]).confidence_interval(0.95)
    assert copying.difference.estimate.mean == pytest.approx(statistics.mean(a - b for a, b in pairs))
    assert copying.difference.estimate.low == pytest.approx(expected.low)
    assert copying.difference.decided == (expected.low > 0)
    assert recall.difference.decided
    assert compare(filled, "good", "middle", task="recall").tasks == (recall,)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("goood", "did you mean `good`"),
        ("catalogue:softmax_rope", "has no result"),
        ("0123456789ab", "sextant leaderboard"),
    ],
)
def test_an_unknown_candidate_is_named(filled: Store, reference: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        compare(filled, reference, "good")


def test_a_candidate_is_known_by_fingerprint_and_by_name(filled: Store) -> None:
    assert resolve(filled, "good") == resolve(filled, draft("good").fingerprint) == draft("good").fingerprint
