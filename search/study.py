"""The loop of a search: propose, canonicalise, check, replay what is known, queue jobs, aggregate, tell.

It runs in the owner process, beside the HTTP service that hands the jobs out. Every step starts from the store, so the
loop may be killed at any point and a new one goes on.
"""

import json
import logging
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from designspace.candidate import Candidate
from search import leases, ledger
from search.judge import Judge, Judgement
from search.ledger import Draft, Proposal, Study
from search.objectives import values
from search.space import Space
from search.store import Store
from search.suggest import HISTORY, Adviser, Outcome, Past, Point
from search.tables import FINGERPRINT_LENGTH, ProposalState

PATIENCE = 300  # asks in a row without a new candidate, after which the space counts as exhausted
REBUILD_AFTER = 2 * HISTORY  # trials in the adviser's memory after which the old ones are dropped
INVALID = "invalid-spec"  # code of the finding of a point whose choices do not go together
INTERNAL = "internal-error"  # code of the finding of a candidate on which a check failed
ENDED = ("stopped", "done")

_log = logging.getLogger(__name__)


@dataclass
class Search:
    """A study being searched.

    Args:
        store: the open store.
        name: the study in it.
        space: its space.
        judge: fingerprints, checks and sizes candidates.
        ahead: jobs kept in the queue, so that no worker waits for a proposal.
    """

    store: Store
    name: str
    space: Space
    judge: Judge
    ahead: int = 2
    adviser: Adviser = field(init=False)
    trials: dict[int, int] = field(init=False)
    asked: int = field(init=False)
    fruitless: int = 0

    def __post_init__(self) -> None:
        self.adviser = Adviser(self.space)
        self._rebuild()

    def step(self) -> bool:
        """Move everything that can move; False once the study has ended."""
        leases.sweep(self.store)
        study = ledger.study(self.store, self.name)
        for proposal in ledger.finishable(self.store, study.id):
            self._finish(proposal)
        while self._wants_more():
            self._propose()
        study = ledger.study(self.store, self.name)
        if reason := self._end(study):
            study = ledger.end_study(self.store, self.name, reason)
        return study.state not in ENDED

    def _wants_more(self) -> bool:
        study = ledger.study(self.store, self.name)
        if study.state != "running" or _is_spent(study) or self.fruitless >= PATIENCE:
            return False
        return ledger.counts(self.store, study.id).jobs["queued"] < self.ahead

    def _end(self, study: Study) -> str | None:
        """Why the study is over, if it is."""
        if study.state != "running":
            return None
        counts = ledger.counts(self.store, study.id)
        if _is_unpayable(study) and counts.jobs["leased"] == 0:
            return "The budget of jobs or seconds is used up."
        if counts.proposals["running"] > 0:
            return None
        if study.trials_taken >= study.budget.trials:
            return f"All {study.budget.trials} trials are done."
        return f"No new candidate in {PATIENCE} proposals." if self.fruitless >= PATIENCE else None

    def _propose(self) -> None:
        study = ledger.study(self.store, self.name)
        starts = self.space.settings.start
        if self.asked < len(starts):
            start = self.space.start(self.asked)
            point, draft = None, self._judged(start)
        else:
            point = self.adviser.ask(self.asked)
            draft = self._draft_of(point)
        proposal = ledger.propose(self.store, study.id, draft, self.space.settings.plan)
        self.asked += 1
        if point is not None:
            self.trials[proposal.number] = point.trial
        self._follow_up(proposal)

    def _draft_of(self, point: Point) -> Draft:
        if point.candidate is None:
            return _invalid(point)
        named = point.candidate.model_copy(update={"name": point.label[:200] or self.space.name})
        return self._judged(named).model_copy(
            update={"parameters": dict(point.parameters), "distributions": dict(point.distributions)}
        )

    def _judged(self, candidate: Candidate) -> Draft:
        """The draft of a candidate; one on which the judge itself fails is rejected with that as its finding.

        Whatever a rule trips over, it must not end the search here, nor again at every resume: the same point would
        come up each time.
        """
        try:
            return _draft(self.judge(candidate), candidate)
        except Exception as error:
            _log.exception("A check failed on %s, which is rejected", candidate.name)
            return _rejected(candidate, f"internal error, please report: {type(error).__name__}: {error}")

    def _follow_up(self, proposal: Proposal) -> None:
        """Tell the adviser at once what is known at once."""
        is_new = proposal.state in ("running", "replayed")
        self.adviser.note(is_new=is_new)
        self.fruitless = 0 if is_new else self.fruitless + 1
        match proposal.state:
            case "rejected":
                self._tell(proposal.number, "rejected")
            case "replayed":
                self._finish(proposal)
            case "duplicate":
                original = ledger.proposal(self.store, proposal.duplicate_of or 0)
                self._tell(proposal.number, _outcome(original), original.values)
            case _:
                pass

    def _finish(self, proposal: Proposal) -> None:
        """Aggregate the results of a proposal whose jobs have ended, and tell it and its duplicates."""
        plan = self.space.settings.plan
        scores = ledger.scores(self.store, proposal.id)
        if len(scores) == len(plan.tasks) * len(plan.seeds):
            state: ProposalState = "replayed" if proposal.state == "replayed" else "done"
            found = values(self.space.settings.objectives, scores)
            ledger.finish(self.store, proposal.id, state, found)
            outcome: Outcome = "measured"
        else:
            found, outcome = None, "failed"
            ledger.finish(self.store, proposal.id, "failed")
        for number in (proposal.number, *ledger.duplicates(self.store, proposal.id)):
            self._tell(number, outcome, found)

    def _tell(self, number: int, outcome: Outcome | None, found: tuple[float, ...] | None = None) -> None:
        """Tell the adviser once; a point still in training, or not of the space, is left alone."""
        if outcome is None or number not in self.trials:
            return
        self.adviser.tell(self.trials.pop(number), outcome, found)
        if len(self.adviser.study.get_trials(deepcopy=False)) > REBUILD_AFTER:
            self._rebuild()

    def _rebuild(self) -> None:
        study = ledger.study(self.store, self.name)
        proposals = ledger.proposals(self.store, study.id)
        by_id = {proposal.id: proposal for proposal in proposals}
        self.asked = len(proposals)
        self.trials = self.adviser.rebuild([_past(one, by_id) for one in proposals if one.state != "cancelled"])


def _is_spent(study: Study) -> bool:
    return study.trials_taken >= study.budget.trials or _is_unpayable(study)


def _is_unpayable(study: Study) -> bool:
    """No further run can be paid."""
    budget = study.budget
    no_jobs = budget.jobs is not None and study.jobs_taken >= budget.jobs
    return no_jobs or (budget.seconds is not None and study.seconds_spent >= budget.seconds)


def _draft(judgement: Judgement, candidate: Candidate) -> Draft:
    return Draft(
        fingerprint=judgement.fingerprint,
        name=candidate.name,
        spec=candidate.model_dump(mode="json"),
        report=judgement.report,
        rejected=judgement.rejected,
        facts=judgement.facts,
    )


def _rejected(candidate: Candidate, message: str) -> Draft:
    """A rejected draft of a candidate that cannot be judged; a digest of its spec stands in for the fingerprint."""
    spec = candidate.model_dump(mode="json")
    return Draft(
        fingerprint=_digest(spec), name=candidate.name, spec=spec, report=_report(INTERNAL, message), rejected=True
    )


def _invalid(point: Point) -> Draft:
    """A rejected draft for choices that make no candidate; a digest of the choices stands in for the fingerprint."""
    return Draft(
        fingerprint=_digest(dict(point.parameters)),
        name=point.label[:200] or INVALID,
        spec={},
        report=_report(INVALID, str(point.error)),
        rejected=True,
        parameters=dict(point.parameters),
        distributions=dict(point.distributions),
    )


def _digest(data: dict[str, Any]) -> str:
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:FINGERPRINT_LENGTH]


def _report(code: str, message: str) -> dict[str, Any]:
    """A report of one error."""
    finding = {"code": code, "severity": "error", "message": message, "suppressed": None}
    return {"findings": [finding], "summary": {"errors": 1, "warnings": 0, "infos": 0}}


def _outcome(proposal: Proposal) -> Outcome | None:
    """What the adviser may learn; None while the proposal waits, or was cancelled."""
    match proposal.state:
        case "done" | "replayed":
            return "measured" if proposal.values is not None else None
        case "rejected":
            return "rejected"
        case "failed":
            return "failed"
        case "proposed" | "duplicate" | "running" | "cancelled":
            return None


def _past(proposal: Proposal, by_id: dict[int, Proposal]) -> Past:
    source = proposal if proposal.duplicate_of is None else by_id[proposal.duplicate_of]
    return Past(
        number=proposal.number,
        parameters=proposal.parameters,
        distributions=proposal.distributions,
        outcome=_outcome(source),
        values=source.values,
    )
