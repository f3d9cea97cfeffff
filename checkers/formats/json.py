"""JSON, schema `sextant.report/1`: one object for one report, an array for more."""

import json
from collections.abc import Sequence

from checkers.finding import Report
from checkers.format import Format


def render(reports: Sequence[Report], *, colour: bool = False) -> str:  # noqa: ARG001 - JSON has no colour
    """The reports as JSON text."""
    data = [report.model_dump(mode="json") for report in reports]
    return json.dumps(data[0] if len(data) == 1 else data, indent=2, ensure_ascii=False) + "\n"


format = Format(  # noqa: A001 - the attribute that units.discover takes
    render=render, media_type="application/json", extension="json"
)
