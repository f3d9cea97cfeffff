"""JUnit XML: one suite for each candidate, one case for each rule, and one for the probes where they ran.

A case fails on a finding at warning or error that no suppression silences; it is skipped where the rule could not judge
(unknown never reads as pass). Infos and silenced findings are in the output of the case. Faults of the implementation
fail the case of the probes.
Source: the schema of the Jenkins xUnit plugin, `junit-10.xsd`.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from checkers.entries import told
from checkers.finding import Fault, Finding, Report, Severity, Verdict
from checkers.format import Format
from checkers.location import place, source_name

PROBES = "probes of the implementation"
FAILING: tuple[Severity, ...] = ("error", "warning")
OUTSIDE_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPLACEMENT = "\ufffd"


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - XML has no colour
    """The suites in the order of the reports."""
    suites = [_suite(report) for report in reports]
    root = ET.Element("testsuites", _counts([case for suite in suites for case in suite]))
    root.set("name", "sextant lint")
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(report: Report) -> ET.Element:
    cases = [_case(verdict, report) for verdict in report.verdicts]
    if report.measured or report.faults:
        cases.append(_probes(report))
    suite = ET.Element("testsuite", {"name": _xml(_suite_name(report)), **_counts(cases)})
    suite.extend(cases)
    return suite


def _suite_name(report: Report) -> str:
    name, source = report.candidate.name, source_name(report)
    return name if source == name else f"{name} ({source})"


def _counts(cases: Sequence[ET.Element]) -> dict[str, str]:
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _case(verdict: Verdict, report: Report) -> ET.Element:
    case = ET.Element("testcase", {"name": f"{verdict.code} {verdict.name}", "classname": _xml(source_name(report))})
    found = [finding for finding in report.findings if finding.code == verdict.code]
    failing = [finding for finding in found if finding.suppressed is None and finding.severity in FAILING]
    other = [finding for finding in found if finding not in failing]
    if failing:
        worst = min(failing, key=lambda finding: FAILING.index(finding.severity))
        failure = ET.SubElement(case, "failure", {"type": worst.severity, "message": _xml(worst.message)})
        failure.text = _xml("\n".join(_line(finding, report) for finding in failing))
    elif verdict.verdict == "unknown":
        ET.SubElement(case, "skipped", {"message": _xml(verdict.reason)})
    if other:
        ET.SubElement(case, "system-out").text = _xml("\n".join(_line(finding, report) for finding in other))
    return case


def _probes(report: Report) -> ET.Element:
    case = ET.Element("testcase", {"name": PROBES, "classname": _xml(source_name(report))})
    if report.faults:
        attributes = {"type": "fault", "message": _xml(report.faults[0].message)}
        failure = ET.SubElement(case, "failure", attributes)
        failure.text = _xml("\n".join(f"{one.code} {_line(one, report)}" for one in report.faults))
    return case


def _line(one: Finding | Fault, report: Report) -> str:
    where = place(one, report)
    reason = one.suppressed if isinstance(one, Finding) else None
    silenced = "" if reason is None else f" (suppressed: {reason})"
    position = f"{source_name(report)}:{where.line}:{where.column}"
    return f"{position} {one.path} {one.severity}: {told(one)}{silenced}"


def _xml(text: str) -> str:
    """`text` without the characters that XML 1.0 cannot hold."""
    return OUTSIDE_XML.sub(REPLACEMENT, text)


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="application/xml", extension="xml"
)
