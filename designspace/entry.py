"""Catalogue entries: a published mixer as a candidate, with its source. `designspace/catalogue/` holds one file each.

The module docstring of an entry is its documentation; `described` reads the fields from its headings, so that nothing
is written twice.
"""

import re
from functools import cache
from typing import Self

from designspace import units
from designspace.candidate import Candidate
from designspace.errors import SpecError
from designspace.events import nearest, quoted
from designspace.mixer import MixerSpec
from designspace.spec import Spec

PACKAGE = "designspace.catalogue"
REQUIRED = ("Source", "Tuple", "State", "Reference", "Known for", "Sizes")
OPTIONAL = ("Left out",)
_HEADING = re.compile(rf"^({'|'.join((*REQUIRED, *OPTIONAL))}) {{2,}}(?=\S)", re.MULTILINE)
_SOURCE = re.compile(r"(?P<authors>.+), (?P<year>\d{4}), arXiv (?P<arxiv>\d{4}\.\d{4,5})")


class Entry(Spec):
    """A published mixer.

    Attributes:
        title: what it is, in one line.
        authors, year, arxiv: the source.
        equation: the tuple (phi, A_t, b_j, eta_i) in one line.
        state: what is kept per head while decoding (n key width, p value width, T length).
        reference: a public implementation that the tuple was compared with.
        known_for: what it showed, and its known weakness.
        sizes: where depth and sizes of `candidate` come from.
        left_out: what the published layer has and the grammar does not; empty where nothing.
        candidate: the published stack.
    """

    title: str
    authors: str
    year: int
    arxiv: str
    equation: str
    state: str
    reference: str
    known_for: str
    sizes: str
    left_out: str
    candidate: Candidate

    @property
    def name(self) -> str:
        """Name in the catalogue: the file name."""
        return self.candidate.name

    @property
    def url(self) -> str:
        """The abstract page of the paper."""
        return f"https://arxiv.org/abs/{self.arxiv}"

    @property
    def mixer(self) -> MixerSpec:
        """The mixer the entry is about: the first of the stack."""
        return next(self.candidate.mixers()).mixer

    @classmethod
    def described(cls, docstring: str | None, candidate: Candidate) -> Self:
        """The entry that the docstring of a catalogue module describes.

        Raises:
            ValueError: a heading is missing, or the source is not `authors, year, arXiv number`.
        """
        title, *parts = _HEADING.split((docstring or "").strip())
        fields = {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}
        missing = [name for name in REQUIRED if name not in fields]
        if missing:
            raise ValueError(f"catalogue entry {candidate.name}: the docstring lacks {', '.join(missing)}.")
        source = _SOURCE.fullmatch(fields["Source"])
        if source is None:
            raise ValueError(
                f"catalogue entry {candidate.name}: `Source` must be `authors, year, arXiv number`,"
                f" got {quoted(fields['Source'])}."
            )
        return cls(
            title=title.strip().rstrip("."),
            authors=source["authors"],
            year=int(source["year"]),
            arxiv=source["arxiv"],
            equation=fields["Tuple"],
            state=fields["State"],
            reference=fields["Reference"],
            known_for=fields["Known for"],
            sizes=fields["Sizes"],
            left_out=fields.get("Left out", ""),
            candidate=candidate,
        )


def names() -> tuple[str, ...]:
    """Names of all entries, sorted; no entry is imported."""
    return units.names(PACKAGE)


@cache
def get(name: str) -> Entry:
    """The entry `name`; only its own file is imported.

    Raises:
        SpecError: there is none; the message names the nearest.
    """
    if name not in names():
        close = nearest(name, names())
        remedy = f"did you mean `{close}`?" if close else "`sextant catalogue` lists the entries."
        raise SpecError(f"{quoted(name)} is not in the catalogue; {remedy}")
    return units.load_unit(PACKAGE, name, "entry", Entry)
