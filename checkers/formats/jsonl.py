"""JSON lines: a finding or a probe fault a line, with the candidate and the target; silenced ones say why.

A line has either the key `finding` or the key `fault`.
"""

import json
from collections.abc import Sequence

from checkers.finding import Report
from checkers.format import Format


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - JSON has no colour
    """Findings, then faults, in the order of the reports; nothing where there are none."""
    return "".join(line for report in reports for line in _lines(report))


def _lines(report: Report) -> list[str]:
    about = {
        "schema": report.schema_,
        "tool_version": report.tool_version,
        "candidate": report.candidate.model_dump(mode="json"),
        "target": report.target.model_dump(mode="json"),
    }
    found = [("finding", finding) for finding in report.findings] + [("fault", fault) for fault in report.faults]
    return [json.dumps({**about, key: one.model_dump(mode="json")}, ensure_ascii=False) + "\n" for key, one in found]


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="application/jsonl", extension="jsonl"
)
