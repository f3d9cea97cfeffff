"""JSON lines: one finding a line, with the candidate and the target it is about; silenced ones say why."""

import json
from collections.abc import Sequence

from checkers.finding import Report
from checkers.format import Format


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - JSON has no colour
    """The findings in the order of the reports; nothing where there are none."""
    return "".join(line for report in reports for line in _lines(report))


def _lines(report: Report) -> list[str]:
    about = {
        "schema": report.schema_,
        "tool_version": report.tool_version,
        "candidate": report.candidate.model_dump(mode="json"),
        "target": report.target.model_dump(mode="json"),
    }
    findings = [finding.model_dump(mode="json") for finding in report.findings]
    return [json.dumps({**about, "finding": finding}, ensure_ascii=False) + "\n" for finding in findings]


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="application/jsonl", extension="jsonl"
)
