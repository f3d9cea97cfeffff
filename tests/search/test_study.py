"""The chain: the refused never train, duplicates never twice, budgets are exact, and a restart changes nothing."""

from collections import Counter

import pytest
from fabricate import accuracy, claim, judge, result, space, work
from sqlalchemy import func, select

from designspace.candidate import Candidate
from designspace.job import Job
from search import leases, ledger
from search.judge import Judgement
from search.objectives import values
from search.space import Space
from search.status import status
from search.store import Store
from search.study import INTERNAL, Search
from search.tables import AttemptRow, JobRow, ProposalRow, ResultRow

RUNS = 4  # two tasks, two seeds


def begin(store: Store, one: Space, name: str = "s") -> Search:
    ledger.create_study(store, name, space=one.record(), budget=one.settings.limits)
    return Search(store, name, one, judge)


def finish(search: Search) -> None:
    while search.step():
        work(search.store)


def count(store: Store, table: type) -> int:
    with store.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_a_search_ends_with_exactly_the_planned_results(store: Store) -> None:
    finish(begin(store, space()))
    found = status(store, "s")
    assert (found.state, found.trials_taken, found.counts.results) == ("done", 12, 12 * RUNS)
    assert found.counts.proposals["done"] == 12
    assert count(store, AttemptRow) == 12 * RUNS


def test_no_refused_candidate_has_a_job_and_each_is_visible(store: Store) -> None:
    finish(begin(store, space()))
    with store.read() as session:
        refused = set(session.scalars(select(ProposalRow.candidate_id).where(ProposalRow.state == "rejected")))
        trained = set(session.scalars(select(JobRow.candidate_id)))
    assert refused
    assert not refused & trained
    assert len(status(store, "s").rejected) == status(store, "s").counts.proposals["rejected"]


def test_a_small_space_is_exhausted_and_no_duplicate_trained_twice(store: Store) -> None:
    finish(begin(store, space(SMALL)))
    found = status(store, "s")
    assert found.reason == "No new candidate in 300 proposals."
    assert found.counts.proposals["done"] == 3
    assert found.counts.proposals["duplicate"] > 100
    assert count(store, ResultRow) == count(store, AttemptRow) == 3 * RUNS


SMALL = """
name: small
blocks: [{mixer: {readout: {choice: [{kind: exponential}, {kind: identity}, {kind: relu}]}}}]
tasks: [in_context_recall, selective_copying]
budget: {trials: 100}
"""


def test_a_second_study_replays_and_trains_nothing(store: Store) -> None:
    small = space(SMALL, budget={"trials": 3})
    finish(begin(store, small))
    again = begin(store, small, "again")
    while again.step():
        assert work(store) == 0
    assert status(store, "again").counts.proposals["replayed"] == 3
    assert status(store, "again").jobs_taken == 0
    first, second = status(store, "s").best, status(store, "again").best
    assert first is not None
    assert second is not None
    assert (first.fingerprint, first.values) == (second.fingerprint, second.values)


def test_values_are_the_mean_over_tasks_of_the_mean_over_seeds(store: Store) -> None:
    search = begin(store, space(budget={"trials": 1}, objectives=["accuracy", "parameters"]))
    finish(search)
    [proposal] = ledger.proposals(store, ledger.study(store, "s").id, "done")
    width = proposal.spec["blocks"][0]["mixer"]["io"]["short_conv"]["width"]
    expected = [accuracy(Job(id=1, attempt=1, fingerprint="", spec=proposal.spec, task="t", seed=s)) for s in (0, 1)]
    assert proposal.values == pytest.approx((sum(expected) / 2, width))


def test_a_candidate_whose_job_fails_is_failed_and_the_search_goes_on(store: Store) -> None:
    search = begin(store, space(budget={"trials": 5}))
    while search.step():
        for job in claim(store, most=64).jobs:
            bad = job.seed == 1 and Counter(job.fingerprint)["a"] > 0
            leases.complete(store, [result(job, status="failed" if bad else "done")])
    counts = status(store, "s").counts.proposals
    assert counts["done"] + counts["failed"] == 5


@pytest.mark.parametrize("jobs", [0, 1, 7])
def test_the_job_budget_is_exact_and_ends_the_study(store: Store, jobs: int) -> None:
    finish(begin(store, space(budget={"trials": 12, "jobs": jobs})))
    found = status(store, "s")
    assert (found.state, found.jobs_taken, found.counts.results) == ("done", jobs, jobs)
    assert found.counts.jobs["queued"] == found.counts.jobs["leased"] == 0


def test_seconds_end_the_study(store: Store) -> None:
    finish(begin(store, space(budget={"trials": 12, "seconds": 10.0})))
    found = status(store, "s")
    assert found.state == "done"
    assert 10 <= found.seconds_spent < 10 + RUNS * 3


def test_a_new_owner_goes_on_at_any_point(store: Store) -> None:
    """After every step the search object is thrown away and made anew, as a crash would."""
    one = space()
    begin(store, one)
    while Search(store, "s", one, judge).step():
        held = claim(store, most=5).jobs
        leases.release_all(store, "restart")
        assert leases.complete(store, [result(job, accuracy=accuracy(job)) for job in held]).unknown == ()
    found = status(store, "s")
    assert (found.trials_taken, found.counts.results, found.jobs_taken) == (12, 12 * RUNS, 12 * RUNS)


def test_catalogue_entries_of_the_start_come_first(store: Store) -> None:
    finish(begin(store, space(start=["softmax_nope", "softmax_rope"], budget={"trials": 3})))
    done = ledger.proposals(store, ledger.study(store, "s").id, "done")
    assert [proposal.name for proposal in done[:2]] == ["softmax_nope", "softmax_rope"]
    assert done[0].parameters == {}


def test_choices_that_do_not_go_together_are_refused_with_their_message(store: Store) -> None:
    text = """
name: clash
mixer: {support: {window: {choice: [null, 8]}, chunk: {choice: [null, 8]}}}
tasks: [in_context_recall, selective_copying]
budget: {trials: 3}
"""
    finish(begin(store, space(text)))
    refused = ledger.proposals(store, ledger.study(store, "s").id, "rejected")
    assert refused
    assert "exclude each other" in refused[0].report["findings"][0]["message"]
    assert status(store, "s").rejected[0].codes == ("invalid-spec",)


def test_a_stopped_study_proposes_nothing_and_goes_on_when_resumed(store: Store) -> None:
    search = begin(store, space())
    search.step()
    ledger.set_state(store, "s", "stopped")
    before = status(store, "s").counts
    assert not search.step()
    assert status(store, "s").counts == before
    ledger.set_state(store, "s", "running")
    finish(Search(store, "s", search.space, judge))
    assert status(store, "s").counts.results == 12 * RUNS


def test_no_scores_have_no_value() -> None:
    with pytest.raises(ValueError, match="at least one result"):
        values(["accuracy"], [])


def test_a_check_that_fails_rejects_its_candidate_and_the_search_goes_on(store: Store) -> None:
    def failing(candidate: Candidate) -> Judgement:
        if candidate.blocks[0].mixers[0].readout.kind == "relu":
            raise ZeroDivisionError("a rule divided by 0")
        return judge(candidate)

    one = space()
    ledger.create_study(store, "s", space=one.record(), budget=one.settings.limits)
    finish(Search(store, "s", one, failing))
    found = status(store, "s")
    assert (found.state, found.counts.results) == ("done", 12 * RUNS)
    internal = [proposal for proposal in ledger.proposals(store, 1, "rejected") if INTERNAL in str(proposal.report)]
    assert internal
    assert "ZeroDivisionError: a rule divided by 0" in internal[0].report["findings"][0]["message"]
    assert internal[0].parameters
    assert any(one.codes == (INTERNAL,) for one in found.rejected)
