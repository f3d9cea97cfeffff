"""jsonl: one finding a line, with the spec."""

import json

from checkers.formats.jsonl import format as jsonl
from tests.checkers.fixed_report import FAULT, FILE, FINDINGS, probed, report


def test_a_line_is_a_finding_with_its_candidate():
    lines = [json.loads(line) for line in jsonl.render([report(), report(name="other")]).splitlines()]
    assert [line["candidate"]["name"] for line in lines] == ["mine"] * 4 + ["other"] * 4
    assert lines[0]["candidate"] == {"name": "mine", "fingerprint": "0123456789ab", "source": FILE}
    assert lines[0]["schema"] == "sextant.report/1"
    assert lines[0]["target"]["seq_len"] == report().target.seq_len
    assert [line["finding"] for line in lines[:4]] == [one.model_dump(mode="json") for one in FINDINGS]


def test_faults_have_lines_of_their_own():
    lines = [json.loads(line) for line in jsonl.render([probed()]).splitlines()]
    assert [sorted(set(line) & {"finding", "fault"}) for line in lines] == [["finding"], ["finding"], ["fault"]]
    assert lines[-1]["fault"] == FAULT.model_dump(mode="json")
    assert lines[0]["finding"]["probe"]["verdict"] == "contradicted"
