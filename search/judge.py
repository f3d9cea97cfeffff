"""What is known of a candidate without training it: identity, findings, sizes, and whether it may train at all."""

from collections.abc import Callable
from typing import Any

from designspace.candidate import Candidate
from designspace.job import Record


class Judgement(Record):
    """A judged candidate; `facts` holds its sizes by the names of the objectives."""

    fingerprint: str
    report: dict[str, Any]
    rejected: bool
    facts: dict[str, float]


Judge = Callable[[Candidate], Judgement]
