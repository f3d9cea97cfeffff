"""github: workflow commands. The expected escapes are those of actions/toolkit."""

from hypothesis import given
from hypothesis import strategies as st

from checkers.formats.github import IN_MESSAGES, IN_PROPERTIES, escaped
from checkers.formats.github import format as github
from tests.checkers.fixed_report import deep, finding, probed, report

ERROR = (
    "::error file=specs/a b.yaml,line=7,endLine=7,col=12,endColumn=16,title=CD501 score-scale"
    "::blocks[0].mixer.scaling.base: std 8, 100%25 outside [0.5, 2]: a < b & c | d"
)


def test_a_command_names_file_region_and_rule():
    assert github.render([report()]).splitlines() == [
        "::warning file=specs/a b.yaml,line=3,endLine=4,title=CD101 quadratic-cost"
        "::blocks[0].mixer.readout: first line%0Asecond, line",
        ERROR,
        ERROR,
    ]


def test_an_info_is_a_notice():
    assert github.render([report(finding(severity="info"))]).startswith("::notice ")


def test_properties_hide_what_separates_them():
    line = github.render([report(finding(), source="a:b,c%d.yaml")])
    assert line.startswith("::error file=a%3Ab%2Cc%25d.yaml,line=7,")


def test_a_candidate_without_a_file_names_none():
    line = github.render([report(finding(), source="catalogue:linear")])
    assert line.startswith("::error title=CD501 score-scale::catalogue:linear blocks[0].mixer.scaling.base: ")


@given(st.text(), st.sampled_from([(IN_MESSAGES, "\r\n"), (IN_PROPERTIES, "\r\n:,")]))
def test_escaped_text_reads_back_and_holds_no_separator(text: str, kind: tuple[dict[str, str], str]):
    escapes, hidden = kind
    found = escaped(text, escapes)
    assert not set(found) & set(hidden)
    for character, escape in reversed(escapes.items()):  # the per cent sign last, as the runner does
        found = found.replace(escape, character)
    assert found == text


def test_a_fault_is_an_error_at_its_line():
    assert github.render([probed()]).splitlines()[-1] == (
        "::error file=specs/a b.yaml,line=2,endLine=2,col=3,endColumn=8,title=probe-later-tokens causality probe"
        "::blocks[0].mixer: an output changes with later tokens: <b> & 50%25"
    )


def test_every_finding_has_its_command_however_deep_the_stack():
    assert github.render([deep()]).count("::error ") == 8
