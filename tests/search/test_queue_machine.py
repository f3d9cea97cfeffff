"""The queue as a state machine: whatever workers, clocks and restarts do, every job has one result and budgets hold."""

import tempfile
from pathlib import Path

from conftest import ManualClock
from fabricate import claim, draft, result
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from sqlalchemy import func, select

from designspace.job import Job
from search import leases, ledger
from search.store import open_store
from search.tables import AttemptRow, JobRow, ResultRow, StudyRow, SummaryRow

WORKERS = st.sampled_from(["a", "b", "c"])
JOB_BUDGET = 12
TRIAL_BUDGET = 5
PLAN = ledger.Plan(tasks=("recall",), seeds=(0, 1, 2))


class Queue(RuleBasedStateMachine):
    """Drives one study; `first` remembers the first measurement delivered for each job."""

    held = Bundle("held")
    spent = Bundle("spent")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.first: dict[int, float] = {}
        self.open()
        budget = ledger.Budget(trials=TRIAL_BUDGET, jobs=JOB_BUDGET)
        self.study = ledger.create_study(self.store, "s", space={}, budget=budget)

    def open(self) -> None:
        self.store = open_store(str(Path(self.folder.name) / "runs.db"), now=self.clock)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(name=st.sampled_from("abcdefg"), rejected=st.booleans())
    def propose(self, name: str, rejected: bool) -> None:
        taken = ledger.study(self.store, "s").trials_taken
        known = {one.name for one in ledger.proposals(self.store, self.study.id, "running", "done", "failed")}
        if rejected or name in known or taken < TRIAL_BUDGET:
            ledger.propose(self.store, self.study.id, draft(name, rejected=rejected), PLAN)

    @rule(target=held, worker=WORKERS, most=st.integers(1, 3))
    def take(self, worker: str, most: int) -> object:
        return multiple(*((worker, job) for job in claim(self.store, worker, most=most).jobs))

    @rule(holder=held)
    def beat(self, holder: tuple[str, Job]) -> None:
        worker, job = holder
        leases.heartbeat(self.store, worker, [leases.Lease(job_id=job.id, attempt=job.attempt)])

    @rule(target=spent, holder=consumes(held), accuracy=st.floats(0, 1), status=st.sampled_from(["done", "diverged"]))
    def deliver(self, holder: tuple[str, Job], accuracy: float, status: str) -> object:
        job = holder[1]
        receipt = leases.complete(self.store, [result(job, accuracy=accuracy, status=status)])
        assert (job.id in receipt.accepted) == (job.id not in self.first)
        self.first.setdefault(job.id, 0.125 if status == "diverged" else accuracy)
        return holder

    @rule(target=spent, holder=consumes(held), status=st.sampled_from(["failed", "oom", "lost", "cancelled"]))
    def fail(self, holder: tuple[str, Job], status: str) -> object:
        leases.complete(self.store, [result(holder[1], status=status)])
        return holder

    @rule(holder=spent, accuracy=st.floats(0, 1))
    def deliver_again(self, holder: tuple[str, Job], accuracy: float) -> None:
        assert leases.complete(self.store, [result(holder[1], accuracy=accuracy)]).duplicate == (holder[1].id,)

    @rule(seconds=st.sampled_from([1.0, leases.LEASE_SECONDS + 1]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        leases.sweep(self.store)

    @rule(takes_back=st.booleans())
    def restart(self, takes_back: bool) -> None:
        self.store.close()
        self.open()
        if takes_back:
            leases.release_all(self.store, "restart")

    @rule()
    def settle(self) -> None:
        for proposal in ledger.finishable(self.store, self.study.id):
            scores = ledger.scores(self.store, proposal.id)
            done = len(scores) == len(PLAN.seeds)
            assert ledger.finish(self.store, proposal.id, "done" if done else "failed", [0.5] if done else None)

    @invariant()
    def every_job_has_at_most_one_result_and_it_is_the_first(self) -> None:
        with self.store.read() as session:
            assert dict(session.execute(select(ResultRow.job_id, ResultRow.accuracy)).all()) == self.first
            assert set(session.scalars(select(JobRow.id).where(JobRow.state == "done"))) == set(self.first)

    @invariant()
    def budgets_are_exact(self) -> None:
        with self.store.read() as session:
            row = session.scalars(select(StudyRow)).one()
            paid = session.scalar(select(func.count()).where(JobRow.paid_by == row.id))
            admitted = session.scalar(select(func.count(JobRow.candidate_id.distinct())))
        assert row.jobs_taken == paid <= JOB_BUDGET
        assert row.trials_taken == admitted <= TRIAL_BUDGET

    @invariant()
    def a_lease_has_one_owner_and_one_open_attempt(self) -> None:
        with self.store.read() as session:
            leased = session.scalars(select(JobRow).where(JobRow.state == "leased")).all()
            for job in leased:
                query = select(AttemptRow).where(AttemptRow.job_id == job.id, AttemptRow.number == job.attempt)
                attempt = session.scalars(query).one()
                assert (attempt.state, attempt.worker) == ("leased", job.owner)
            others = session.scalars(select(JobRow.owner).where(JobRow.state != "leased")).all()
            assert set(others) <= {None}

    @invariant()
    def summaries_count_the_results(self) -> None:
        with self.store.read() as session:
            assert (session.scalar(select(func.sum(SummaryRow.n))) or 0) == len(self.first)


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
