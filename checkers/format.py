"""An output format of reports; one file of `checkers/formats/` holds one format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from checkers.edits import Replacement
from checkers.finding import Report
from checkers.picture import Picture

Replaced = Mapping[int, Sequence[Replacement]]  # of one report: what the fix of a finding replaces, by its position


class Render(Protocol):
    """Reports as text. `colour` adds terminal escapes where the format has any."""

    def __call__(self, reports: Sequence[Report], *, colour: bool = False) -> str: ...


class Illustrate(Protocol):
    """Reports as text with a picture of each candidate; `pictures` goes with `reports`, None where there is none."""

    def __call__(self, reports: Sequence[Report], pictures: Sequence[Picture | None]) -> str: ...


class Rewrite(Protocol):
    """Reports as text with what their fixes replace in the files; `replaced` goes with `reports`."""

    def __call__(self, reports: Sequence[Report], replaced: Sequence[Replaced]) -> str: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write reports.

    Attributes:
        render: from the reports alone.
        media_type, extension: of a file in this format.
        illustrate: the same with pictures, where the format can show them.
        rewrite: the same with what the fixes replace, where readers of the format can apply that.
        omits_suppressed: readers take every finding for an open one, so silenced ones are handed over only on request.
    """

    render: Render
    media_type: str = "text/plain"
    extension: str = "txt"
    illustrate: Illustrate | None = None
    rewrite: Rewrite | None = None
    omits_suppressed: bool = False
