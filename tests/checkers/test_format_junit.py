"""junit: a case for each rule; it fails on warnings and errors, and an unknown verdict is skipped, never passed."""

from xml.etree import ElementTree as ET

from checkers.formats.junit import format as junit
from tests.checkers.fixed_report import FILE, finding, probed, report

PLACE = f"{FILE}:7:12"


def cases(text: str) -> dict[str, ET.Element]:
    return {case.get("name", ""): case for case in ET.fromstring(text).iter("testcase")}


def test_every_rule_is_a_case_and_the_counts_add_up():
    root = ET.fromstring(junit.render([report(), report()]))
    assert root.attrib == {"tests": "10", "failures": "4", "errors": "0", "skipped": "2", "name": "sextant lint"}
    suite = root[0]
    assert suite.get("name") == f"mine ({FILE})"
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "2", "0", "1"]
    assert [case.get("name") for case in suite][:2] == ["CD101 quadratic-cost", "CD201 fragile-zero-set"]


def test_a_failure_holds_every_finding_of_the_rule():
    failure = cases(junit.render([report()]))["CD501 score-scale"][0]
    line = f"{PLACE} blocks[0].mixer.scaling.base error: {finding().message}"
    assert (failure.tag, failure.get("type"), failure.get("message")) == ("failure", "error", finding().message)
    assert failure.text == f"{line}\n{line}"


def test_infos_and_silenced_findings_are_output():
    silenced = cases(junit.render([report()]))["CD301 position-blind"]
    assert [child.tag for child in silenced] == ["system-out"]
    assert silenced[0].text == f"{PLACE} blocks[0].mixer info: A_t = I (suppressed: a reproduction)"
    info = cases(junit.render([report(finding(severity="info"))]))["CD501 score-scale"]
    assert [child.tag for child in info] == ["system-out"]


def test_unknown_is_skipped_with_its_reason():
    skipped = cases(junit.render([report()]))["CD401 parity-excluded"][0]
    assert (skipped.tag, skipped.get("message")) == ("skipped", "not <applicable>")


def test_characters_that_xml_cannot_hold_are_replaced():
    failure = cases(junit.render([report(finding(message="a\x00b\x1bc"))]))["CD501 score-scale"][0]
    assert failure.get("message") == "a\ufffdb\ufffdc"


def test_a_fault_fails_the_case_of_the_probes():
    text = junit.render([probed()])
    failure = cases(text)["probes of the implementation"][0]
    assert (failure.tag, failure.get("type")) == ("failure", "fault")
    assert failure.text == (
        f"probe-later-tokens {FILE}:2:3 blocks[0].mixer error: an output changes with later tokens: <b> & 50%"
    )
    assert ET.fromstring(text).get("failures") == "2"
    assert "[probe: contradicted, " in (cases(text)["CD501 score-scale"][0].text or "")


def test_sound_probes_pass_and_none_have_no_case():
    sound = probed().model_copy(update={"faults": ()})
    assert len(cases(junit.render([sound]))["probes of the implementation"]) == 0
    assert "probes of the implementation" not in cases(junit.render([report()]))
