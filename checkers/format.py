"""An output format of reports; one file of `checkers/formats/` holds one format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from checkers.finding import Report


class Render(Protocol):
    """Reports as text. `colour` adds terminal escapes where the format has any."""

    def __call__(self, reports: Sequence[Report], *, colour: bool = False) -> str: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write reports."""

    render: Render
