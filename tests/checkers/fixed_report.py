"""One report made by hand, with every kind of finding and with text that each format must escape."""

from checkers.finding import Edit, Fault, Finding, Fix, Place, Probed, Quantity, Report, Subject, Summary, Verdict
from designspace.target import Target

FILE = "specs/a b.yaml"


def finding(**changes: object) -> Finding:
    """An error about the scale of the scores at line 7."""
    fields: dict[str, object] = {
        "code": "CD501",
        "name": "score-scale",
        "principle": 5,
        "severity": "error",
        "path": "blocks[0].mixer.scaling.base",
        "span": Place(file=FILE, line=7, column=12, end_line=7, end_column=16),
        "message": "std 8, 100% outside [0.5, 2]: a < b & c | d",
        "evidence": {"score_std": Quantity(value=8.0), "band": Quantity(value=(0.5, 2.0))},
        "assumptions": ("unit q and k",),
        "sources": ("arXiv 1706.03762",),
        "fix": Fix(applicability="unsafe", edits=(Edit(action="set", path="blocks[0].mixer.scaling", value="n^-1/2"),)),
        "suppressed": None,
        "fingerprint": "00000000000000aa",
    }
    return Finding.model_validate({**fields, **changes})


WARNING = finding(
    code="CD101",
    name="quadratic-cost",
    principle=1,
    severity="warning",
    path="blocks[0].mixer.readout",
    message="first line\nsecond, line",
    span=Place(file=FILE, line=3, column=1, end_line=4, end_column=2),
    fix=None,
    fingerprint="00000000000000bb",
)
SILENCED = finding(
    code="CD301",
    name="position-blind",
    principle=3,
    severity="info",
    path="blocks[0].mixer",
    message="A_t = I",
    suppressed="a reproduction",
    fix=None,
    fingerprint="00000000000000cc",
)
PROBED = Probed(
    verdict="contradicted",
    quantity="score_std",
    value=6.3,
    uncertainty=0.05,
    expected=(6.8, None),
    draws=8,
    length=64,
)
FAULT = Fault(
    probe="causality",
    quantity="later_tokens",
    path="blocks[0].mixer",
    value=0.5,
    limit=1e-9,
    message="an output changes with later tokens: <b> & 50%",
    span=Place(file=FILE, line=2, column=3, end_line=2, end_column=8),
)
KNOWN = SILENCED.model_copy(update={"suppressed": "baseline known.json"})
FINDINGS = (SILENCED, WARNING, finding(), finding())
VERDICTS = (
    Verdict(code="CD101", name="quadratic-cost", principle=1, verdict="fail", reason="no finite lift"),
    Verdict(code="CD201", name="fragile-zero-set", principle=2, verdict="pass", reason="a half-line"),
    Verdict(code="CD301", name="position-blind", principle=3, verdict="pass", reason="position elsewhere"),
    Verdict(code="CD401", name="parity-excluded", principle=4, verdict="unknown", reason="not <applicable>"),
    Verdict(code="CD501", name="score-scale", principle=5, verdict="fail", reason="std 8"),
)


def deep(message: str = "half-life {}.5 steps, below 1,024", blocks: int = 16) -> Report:
    """A stack whose even blocks, of two layers each, say the same but for a number that rises with the depth."""
    findings = [
        finding(
            path=f"blocks[{index}].mixer.decay",
            message=message.format(index + 3),
            evidence={"half_life": Quantity(value=index + 3.5, unit="steps"), "limit": Quantity(value=1024.0)},
            fix=Fix(
                applicability="unsafe",
                edits=(Edit(action="set", path=f"blocks[{index}].mixer.decay.initial[1]", value=0.99),),
            ),
            fingerprint=f"{index:016x}",
        )
        for index in range(0, blocks, 2)
    ]
    found = report(*findings)
    counts = found.summary.model_copy(update={"errors": len(findings), "warnings": 0})
    return found.model_copy(update={"layers": (2,) * blocks, "summary": counts})


def probed(*findings: Finding) -> Report:
    """The report after probes: one of the findings is contradicted, and the implementation leaks."""
    measured = finding(probe=PROBED)
    other = finding(code="CD402", name="commuting-transitions", severity="info", probe=Probed(verdict="not measured"))
    return report(*(findings or (measured, other))).model_copy(update={"faults": (FAULT,), "measured": 40})


def report(*findings: Finding, source: str | None = FILE, name: str = "mine") -> Report:
    """The report on a file, with the findings given or all of the module's."""
    return Report(
        tool_version="1.2.3",
        candidate=Subject(name=name, fingerprint="0123456789ab", source=source),
        target=Target(),
        verdicts=VERDICTS,
        findings=findings or FINDINGS,
        summary=Summary(errors=2, warnings=1, infos=0, passed=2, unknown=1),
    )
