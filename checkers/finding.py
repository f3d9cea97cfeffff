"""What a check reports: verdicts, findings and the report, exactly as the JSON schema `sextant.report/1` has them."""

from collections.abc import Mapping
from functools import cache, lru_cache
from math import isfinite, isnan
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from designspace.spec import RecordType, made
from designspace.target import Target

SIGNIFICANT_DIGITS = 6
CACHE = 4096  # quantities: most are the same few counts

Severity = Literal["error", "warning", "info"]
Answer = Literal["pass", "fail", "unknown"]
Value = float | str | tuple[float, ...]


class Record(BaseModel):
    """A frozen part of a report."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Quantity(Record):
    """A number with its unit; `unit` is empty where it is dimensionless. JSON has no infinity: it is spelled out."""

    value: Value
    unit: str = ""


class Place(Record):
    """A region of a file; lines and columns count from 1, `end_column` is one past the last character."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Edit(Record):
    """One change of the spec: set `path` to `value`, or remove it."""

    action: Literal["set", "remove"]
    path: str
    value: float | str | tuple[float, ...] | None = None


class Fix(Record):
    """What repairs a finding. safe: the function class stays or a stated invariant returns; unsafe: the function
    changes; display: it needs a decision, which `note` names, and its edits (if any) are one way.
    """

    applicability: Literal["safe", "unsafe", "display"]
    edits: tuple[Edit, ...]
    note: str = ""


class Verdict(Record):
    """The answer of one rule about the whole candidate; unknown covers what a rule does not apply to.

    `path` is the place that decides the answer (empty where there is nothing to judge), `evidence` the numbers there.
    """

    code: str
    name: str
    principle: int
    verdict: Answer
    reason: str
    path: str = ""
    evidence: dict[str, Quantity] = {}


class Probed(Record):
    """What the probes say about a finding: the measurement that was held against it, and the interval it should meet.

    `uncertainty` is the half-width of a 95 % interval over `draws` seeds, 0 where the extreme of them is reported; an
    open end of `expected` is null.
    """

    verdict: Literal["confirmed", "contradicted", "not measured"]
    quantity: str | None = None
    value: float | None = None
    uncertainty: float = 0.0
    unit: str = ""
    expected: tuple[float | None, float | None] | None = None
    draws: int = 0
    length: int | None = None


class Fault(Record):
    """What a probe found that a sound form cannot do: the implementation is wrong, whatever the design.

    `code` stands where a finding has that of its rule: `probe-` and the quantity, such as `probe-later-tokens`.
    """

    probe: str
    quantity: str
    path: str
    value: float
    limit: float
    message: str
    span: Place | None = None

    @property
    def code(self) -> str:
        """What selects and names the fault in formats that need a rule."""
        return fault_code(self.quantity)

    @property
    def name(self) -> str:
        """The probe that found it, as a title."""
        return f"{self.probe.replace('_', '-')} probe"

    @property
    def severity(self) -> Severity:
        """An implementation that is wrong is an error whatever the target."""
        return "error"


class Elsewhere(Record):
    """Another place that a finding is about, with the name of the finding there."""

    path: str
    span: Place | None
    fingerprint: str = ""


class Finding(Record):
    """Something to show. `suppressed` holds the reason of the suppression that silences it; `fingerprint` names the
    finding across runs (`checkers.fingerprints`). `probe` is null where nothing was probed. `also` are the other layers
    of which an info says the same; its fix then edits all of them (`checkers.alike`).
    """

    code: str
    name: str
    principle: int
    severity: Severity
    path: str
    span: Place | None
    message: str
    evidence: dict[str, Quantity]
    assumptions: tuple[str, ...]
    sources: tuple[str, ...]
    fix: Fix | None
    suppressed: str | None
    fingerprint: str = ""
    probe: Probed | None = None
    also: tuple[Elsewhere, ...] = ()


class Subject(Record):
    """The candidate a report is about; `source` is the file or catalogue name it came from."""

    name: str
    fingerprint: str
    source: str | None


class Summary(Record):
    """Counts of findings (suppressed ones left out) and of verdicts."""

    errors: int
    warnings: int
    infos: int
    passed: int
    unknown: int


class Report(Record):
    """Everything the checker says about one candidate, in a fixed order; `faults` are of the probed implementation.

    `measured` counts the numbers that probes took, 0 where nothing was probed; `layers` the layers of the stack that
    each block stands for (`repeat`), so that `blocks[i]` of a path is layers[i] of them.
    """

    schema_: Literal["sextant.report/1"] = Field(default="sextant.report/1", alias="schema")
    tool_version: str
    candidate: Subject
    target: Target
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    summary: Summary
    faults: tuple[Fault, ...] = ()
    measured: int = 0
    layers: tuple[int, ...] = ()

    @property
    def active(self) -> tuple[Finding, ...]:
        """The findings that no suppression silences."""
        return tuple(finding for finding in self.findings if finding.suppressed is None)

    @property
    def problems(self) -> "tuple[Finding | Fault, ...]":
        """The active findings, then the faults."""
        return (*self.active, *self.faults)


def unchecked(kind: type[RecordType], /, **values: Any) -> RecordType:
    """The record of these values, one for every field, without a check of their types: it takes most of the time of a
    report, and rules are our own code.
    """
    return made(kind, values, _fields(kind))


@cache
def _fields(kind: type[BaseModel]) -> set[str]:
    return set(kind.model_fields)


def fault_code(quantity: str) -> str:
    """`probe-response` for the quantity `response.decay`."""
    return f"probe-{quantity.partition('.')[0].replace('_', '-')}"


def setting(
    applicability: Literal["safe", "unsafe", "display"], values: Mapping[str, float | str | tuple[float, ...] | None]
) -> Fix:
    """The fix that sets each path to its value."""
    edits = tuple(Edit(action="set", path=path, value=value) for path, value in values.items())
    return Fix(applicability=applicability, edits=edits)


@lru_cache(CACHE)
def quantity(value: float | str | tuple[float, ...], unit: str = "") -> Quantity:
    """`value` rounded to 6 significant digits, infinities and NaN spelled out."""
    match value:
        case str():
            return unchecked(Quantity, value=value, unit=unit)
        case tuple():
            return unchecked(Quantity, value=tuple(_rounded(item) for item in value), unit=unit)
        case _ if isnan(value):
            return unchecked(Quantity, value="undefined", unit=unit)
        case _ if not isfinite(value):
            return unchecked(Quantity, value="infinite" if value > 0 else "minus infinite", unit=unit)
        case _:
            return unchecked(Quantity, value=_rounded(value), unit=unit)


def _rounded(value: float) -> float:
    return float(value) if isinstance(value, int) else float(f"{value:.{SIGNIFICANT_DIGITS}g}") + 0.0  # -0.0 is 0.0
