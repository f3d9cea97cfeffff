"""Studies and proposals: what gets jobs, what never does, and what is answered from the store."""

import pytest
from fabricate import PLAN, claim, draft, result, study

from designspace.errors import SpecError
from search import leases, ledger
from search.store import Store


def train_all(store: Store) -> int:
    """Run every queued job; the number of runs."""
    jobs = claim(store, most=64).jobs
    leases.complete(store, [result(job) for job in jobs])
    return len(jobs)


def test_a_candidate_gets_one_job_per_task_and_seed(store: Store) -> None:
    one = study(store)
    assert ledger.propose(store, one.id, draft("a"), PLAN).state == "running"
    jobs = claim(store, most=64).jobs
    assert [(job.task, job.seed) for job in jobs] == [("recall", 0), ("recall", 1), ("copying", 0), ("copying", 1)]


def test_a_rejected_candidate_never_gets_a_job_and_keeps_its_report(store: Store) -> None:
    one = study(store)
    proposal = ledger.propose(store, one.id, draft("bad", rejected=True), PLAN)
    assert proposal.state == "rejected"
    assert proposal.report["summary"]["errors"] == 1
    assert claim(store, most=64).jobs == ()
    assert ledger.study(store, "s").trials_taken == 0


def test_a_duplicate_shares_the_first_proposal_and_trains_nothing(store: Store) -> None:
    one = study(store)
    first = ledger.propose(store, one.id, draft("a"), PLAN)
    again = ledger.propose(store, one.id, draft("a"), PLAN)
    assert (again.state, again.duplicate_of, again.number) == ("duplicate", first.id, 1)
    assert train_all(store) == len(PLAN.tasks) * len(PLAN.seeds)
    assert ledger.study(store, "s").trials_taken == 1


def test_another_study_replays_stored_results(store: Store) -> None:
    one, two = study(store, name="one"), study(store, name="two")
    ledger.propose(store, one.id, draft("a"), PLAN)
    train_all(store)
    replay = ledger.propose(store, two.id, draft("a"), PLAN)
    assert replay.state == "replayed"
    assert train_all(store) == 0
    assert [score.accuracy for score in ledger.scores(store, replay.id)] == [0.5] * 4
    assert ledger.study(store, "two").jobs_taken == 0


def test_another_study_trains_only_the_missing_seeds(store: Store) -> None:
    one, two = study(store, name="one"), study(store, name="two")
    ledger.propose(store, one.id, draft("a"), PLAN)
    train_all(store)
    ledger.propose(store, two.id, draft("a"), PLAN.model_copy(update={"seeds": (0, 1, 2)}))
    assert [job.seed for job in claim(store, most=64).jobs] == [2, 2]


def test_two_studies_wait_for_the_same_run(store: Store) -> None:
    one, two = study(store, name="one"), study(store, name="two")
    ledger.propose(store, one.id, draft("a"), PLAN)
    ledger.propose(store, two.id, draft("a"), PLAN)
    assert train_all(store) == 4
    assert [len(ledger.finishable(store, each.id)) for each in (one, two)] == [1, 1]


def test_the_trial_budget_holds_to_the_unit(store: Store) -> None:
    one = study(store, trials=2)
    for name in ("a", "b", "a"):
        ledger.propose(store, one.id, draft(name), PLAN)
    with pytest.raises(ValueError, match="used its 2 trials"):
        ledger.propose(store, one.id, draft("c"), PLAN)
    assert len(ledger.proposals(store, one.id)) == 3


def test_a_proposal_is_finished_once(store: Store) -> None:
    one = study(store)
    ledger.propose(store, one.id, draft("a"), PLAN)
    assert ledger.finishable(store, one.id) == []
    train_all(store)
    [ready] = ledger.finishable(store, one.id)
    assert ledger.finish(store, ready.id, "done", [0.5])
    assert not ledger.finish(store, ready.id, "done", [0.9])
    assert ledger.proposals(store, one.id, "done")[0].values == (0.5,)


def test_ending_a_study_cancels_only_what_nobody_else_waits_for(store: Store) -> None:
    one, two = study(store, name="one"), study(store, name="two")
    for each, names in ((one, "ab"), (two, "a")):
        for name in names:
            ledger.propose(store, each.id, draft(name), PLAN)
    ledger.end_study(store, "one", "budget")
    assert ledger.counts(store, one.id).jobs["cancelled"] == 4
    assert ledger.counts(store, one.id).proposals["cancelled"] == 2
    assert train_all(store) == 4


def test_a_cancelled_job_is_queued_again_for_a_later_study(store: Store) -> None:
    one, two = study(store, name="one"), study(store, name="two")
    ledger.propose(store, one.id, draft("a"), PLAN)
    ledger.end_study(store, "one", "budget")
    ledger.propose(store, two.id, draft("a"), PLAN)
    assert train_all(store) == 4


def test_a_job_that_failed_for_an_earlier_study_gets_one_more_attempt_which_the_new_one_pays(store: Store) -> None:
    plan = ledger.Plan(tasks=("recall",), seeds=(0,))
    one, two = study(store, name="one"), study(store, name="two")
    ledger.propose(store, one.id, draft("a"), plan)
    for _ in range(leases.ATTEMPTS["failed"]):
        leases.complete(store, [result(claim(store).jobs[0], status="failed")])
    assert ledger.finish(store, ledger.finishable(store, one.id)[0].id, "failed")
    ledger.propose(store, two.id, draft("a"), plan)
    leases.complete(store, [result(claim(store).jobs[0], status="failed")])
    assert claim(store).jobs == ()
    assert [ledger.study(store, name).jobs_taken for name in ("one", "two")] == [1, 1]


def test_a_study_name_is_taken_once_and_an_unknown_one_is_named(store: Store) -> None:
    study(store)
    with pytest.raises(SpecError, match="`s` exists"):
        study(store)
    with pytest.raises(SpecError, match="it holds: s"):
        ledger.study(store, "t")


@pytest.mark.parametrize("name", ["", " ", "a ", "--store", "a" * 201, "new\nline", "\x1b[31m", "\udcff"])
def test_what_is_no_name_for_a_study_is_refused(store: Store, name: str) -> None:
    with pytest.raises(SpecError, match="no name for a study"):
        study(store, name=name)


@pytest.mark.parametrize("name", ["first", "a b/../c", "ünïcode ☃", "x'; drop table study; --"])
def test_odd_names_are_names(store: Store, name: str) -> None:
    assert ledger.study(store, study(store, name=name).name).name == name
