"""What is known of a candidate without training it: identity, findings, sizes, and whether it may train at all."""

from collections.abc import Callable
from typing import Any, get_args

from pydantic import ValidationError

from checkers.check import check
from checkers.finding import Severity
from checkers.rule import all_rules
from checkers.settings import Settings, fits
from designspace.candidate import Candidate
from designspace.cost import cost
from designspace.errors import SpecError
from designspace.job import Record
from search.ledger import Plan
from workers import protocol as protocols
from workers.task import load

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class Judgement(Record):
    """A judged candidate; `facts` holds its sizes by task, named as the objectives are."""

    fingerprint: str
    report: dict[str, Any]
    rejected: bool
    facts: dict[str, dict[str, float]]


Judge = Callable[[Candidate], Judgement]


def judge_for(plan: Plan, reject: tuple[str, ...], settings: Settings | None = None) -> Judge:
    """A judge for candidates that `plan` would train.

    Args:
        plan: tasks and protocol, which set the sizes.
        reject: what keeps a candidate from training: severities (`error`), and selectors of rules (`CD101`, `CD5`,
            `score-scale`), whose fail counts at any severity. A suppressed finding never does, and a
            candidate that lies outside the grammar or reads later tokens is rejected whatever is asked for.
        settings: of the checker; a rule that they leave out rejects nothing, a severity that they map counts as mapped.
    """
    selectors = [selector for selector in reject if selector not in SEVERITIES]
    codes = {rule.code for rule in all_rules() if any(fits(selector, rule) for selector in selectors)}

    def judge(candidate: Candidate) -> Judgement:
        report = check(candidate, settings)
        fails = [verdict for verdict in report.verdicts if verdict.verdict == "fail"]
        failed = codes & {verdict.code for verdict in fails}
        refused = any(candidate.outside()) or not candidate.is_causal  # nothing to build, or answers read off the input
        return Judgement(
            fingerprint=report.candidate.fingerprint,
            report=report.model_dump(mode="json"),
            rejected=refused or any(finding.severity in reject or finding.code in failed for finding in report.active),
            facts={task: sizes(candidate, task=task, protocol=plan.protocol) for task in plan.tasks},
        )

    return judge


def sizes(candidate: Candidate, *, task: str, protocol: str) -> dict[str, float]:
    """Sizes of the model that `protocol` makes of the candidate for `task`; `state_bytes` is all memory of decoding.

    A candidate that the protocol cannot resize keeps its own sizes; its training will say why it fails.
    """
    rules, unit = protocols.named(protocol), load(task)
    scale = rules.parameters(unit)
    try:
        trained = rules.adapt(candidate, vocab_size=scale.vocab_size, seq_len=scale.seq_len)
    except (ValidationError, SpecError):
        trained = candidate
    found = cost(trained)
    return {
        "parameters": float(found.parameters.total),
        "state_bytes": float(found.memory_bytes),
        "decode_macs": found.decode_macs,
    }
