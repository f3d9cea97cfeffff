"""What every output format must satisfy."""

import pytest

from checkers import Report, check
from checkers.format import Format
from designspace import catalogue
from designspace.units import discover

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
