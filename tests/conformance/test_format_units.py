"""What every output format must satisfy."""

import re

import pytest

from checkers import Report, check
from checkers.format import Format
from designspace import catalogue
from designspace.units import discover

HOSTILE = [
    "a\nb\rc",
    "<b>&amp;\"'",
    "`|*_[x](y)",
    "%0A::error::",
    "::error::a",
    "a ##[error]b",
    "a\x00\x1b[31m\ufffe",
    "ß漢🙂",
]
BY_LINE = ("txt", "jsonl", "sarif", "md")  # extensions of formats where a line break has a meaning
FORMATS = discover("checkers.formats", "format", Format)


@pytest.fixture(params=sorted(FORMATS))
def output_format(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


def reports(*names: str) -> list[Report]:
    return [check(catalogue.get(name).candidate) for name in names]


def test_every_report_and_finding_is_rendered(output_format: Format):
    rendered = output_format.render(reports("softmax_unscaled", "linear"))
    for part in ("softmax_unscaled", "linear", "CD501", "CD601"):
        assert part in rendered
    assert rendered.endswith("\n")


def test_no_terminal_escapes_unless_asked_for(output_format: Format):
    assert "\033" not in output_format.render(reports("softmax_unscaled"))


def test_the_same_reports_give_the_same_text(output_format: Format):
    assert output_format.render(reports("mamba2")) == output_format.render(reports("mamba2"))


def test_every_report_of_the_catalogue_renders(output_format: Format):
    found = reports(*catalogue.names())
    assert output_format.render(found).count("softmax_unscaled")
    assert all(report.candidate.name in output_format.render([report]) for report in found if report.active)
    if output_format.illustrate is not None:
        assert output_format.illustrate(found, [None] * len(found)) == output_format.render(found)


def test_no_reports_are_no_error(output_format: Format):
    assert output_format.render([]) == output_format.render([])


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_renders(output_format: Format, name: str):
    (report,) = reports("softmax_unscaled")
    subject = report.candidate.model_copy(update={"name": name, "source": f"{name}.yaml"})
    rendered = output_format.render([report.model_copy(update={"candidate": subject})])
    assert "CD501" in rendered
    assert "\033" not in rendered
    if output_format.extension in BY_LINE:
        assert rendered.count("\n") == output_format.render([report]).count("\n")
        assert "\r" not in rendered


def test_a_format_says_what_its_files_are(output_format: Format):
    assert re.fullmatch(r"(text|application)/[a-z+]+", output_format.media_type)
    assert re.fullmatch(r"[a-z]+", output_format.extension)
