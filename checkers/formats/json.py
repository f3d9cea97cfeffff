"""JSON, schema `sextant.report/1`: one object for one report, an array for more."""

from collections.abc import Sequence

from pydantic_core import to_json

from checkers.finding import Report
from checkers.format import Format


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - JSON has no colour
    """The reports as JSON text."""
    return to_json(reports[0] if len(reports) == 1 else list(reports), indent=2).decode() + "\n"


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="application/json", extension="json"
)
