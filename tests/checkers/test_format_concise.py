"""concise: one line for each finding."""

from checkers.formats.concise import format as concise
from tests.checkers.fixed_report import FILE, deep, finding, probed, report

ERROR = "CD501 error blocks[0].mixer.scaling.base: std 8, 100% outside [0.5, 2]: a < b & c | d"


def test_a_line_holds_file_place_code_severity_and_message():
    assert concise.render([report()]).splitlines() == [
        f"{FILE}:3:1: CD101 warning blocks[0].mixer.readout: first line second, line",
        f"{FILE}:7:12: {ERROR}",
        f"{FILE}:7:12: {ERROR}",
    ]


def test_a_candidate_without_a_file_goes_by_its_name():
    findings = [finding.model_copy(update={"span": None}) for finding in report().active]
    assert concise.render([report(*findings, source=None)]).splitlines()[-1] == f"mine:1:1: {ERROR}"


def test_a_path_is_kept_as_it_is_but_on_one_line():
    line = concise.render([report(finding(), source="two  spaces\n\x1b.yaml")])
    assert line.startswith("two  spaces \ufffd.yaml:7:12: ")


def test_colour_is_on_the_severity_alone():
    line = concise.render([report()], colour=True).splitlines()[-1]
    assert line.replace("\033[31merror\033[0m", "error") == f"{FILE}:7:12: {ERROR}"


def test_every_finding_has_its_line_however_deep_the_stack():
    assert concise.render([deep()]).count("\n") == 8


def test_probes_and_faults_have_their_say():
    lines = concise.render([probed()]).splitlines()
    assert lines[0].endswith(
        "[probe: contradicted, score_std = 6.3 ± 0.05 over 8 seeds at length 64 (expected at least 6.8)]"
    )
    assert lines[1].endswith("[probe: not measured]")
    assert lines[2] == (
        f"{FILE}:2:3: probe-later-tokens error blocks[0].mixer: an output changes with later tokens: <b> & 50%"
    )
