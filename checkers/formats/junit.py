"""JUnit XML: one suite for each candidate, one case for each rule.

A case fails on a finding at warning or error that no suppression silences; it is skipped where the rule could not judge
(unknown never reads as pass). Infos and silenced findings are in the output of the case.
Source: the schema of the Jenkins xUnit plugin, `junit-10.xsd`.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from checkers.finding import Finding, Report, Severity, Verdict
from checkers.format import Format
from checkers.location import place, source_name

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


def _line(finding: Finding, report: Report) -> str:
    where = place(finding, report)
    silenced = "" if finding.suppressed is None else f" (suppressed: {finding.suppressed})"
    position = f"{source_name(report)}:{where.line}:{where.column}"
    return f"{position} {finding.path} {finding.severity}: {finding.message}{silenced}"


def _xml(text: str) -> str:
    """`text` without the characters that XML 1.0 cannot hold."""
    return OUTSIDE_XML.sub(REPLACEMENT, text)


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="application/xml", extension="xml"
)
