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
from designspace.outside import Outside
from designspace.spec import Spec

PACKAGE = "designspace.catalogue"
OUTSIDE_PACKAGE = "designspace.unrepresentable"
REQUIRED = ("Source", "Tuple", "State", "Reference", "Known for", "Sizes")
OPTIONAL = ("Left out", "Also")
_HEADING = re.compile(rf"^({'|'.join((*REQUIRED, *OPTIONAL))}) {{2,}}(?=\S)", re.MULTILINE)
_SOURCE = re.compile(r"(?P<authors>.+), (?P<year>\d{4}), (?:arXiv (?P<arxiv>\d{4}\.\d{4,5})|(?P<link>https://\S+))")


class Entry(Spec):
    """A published mixer.

    Attributes:
        title: what it is, in one line.
        authors, year, url: the source.
        equation: the tuple (phi, A_t, b_j, eta_i) in one line.
        state: what is kept per head while decoding (n key width, p value width, T length).
        reference: a public implementation that the tuple was compared with.
        known_for: what it showed, and its known weakness.
        sizes: where depth and sizes of `candidate` come from.
        left_out: what the published layer has and the grammar does not; empty where nothing.
        also: further published names of the same point.
        candidate: the published stack.
    """

    title: str
    authors: str
    year: int
    url: str
    equation: str
    state: str
    reference: str
    known_for: str
    sizes: str
    left_out: str
    also: tuple[str, ...]
    candidate: Candidate

    @property
    def name(self) -> str:
        """Name in the catalogue: the file name."""
        return self.candidate.name

    @property
    def source(self) -> str:
        """`arXiv NUMBER`, or the address of a source that is not there."""
        return self.url.replace("https://arxiv.org/abs/", "arXiv ")

    @property
    def mixer(self) -> MixerSpec:
        """The mixer the entry is about: the first of the stack.

        Raises:
            SpecError: it lies outside the grammar.
        """
        for path, outside in self.candidate.outside():
            raise SpecError(f"`{self.name}` lies outside the grammar: {outside.reason}", path=path)
        return next(self.candidate.mixers()).mixer

    @property
    def outside(self) -> Outside | None:
        """Why the mixer is no point of the grammar; None where it is one."""
        return next((outside for _, outside in self.candidate.outside()), None)

    @classmethod
    def described(cls, docstring: str | None, candidate: Candidate) -> Self:
        """The entry that the docstring of a catalogue module describes.

        Raises:
            ValueError: a heading is missing, or the source is not `authors, year, arXiv number` (or a link).
        """
        title, *parts = _HEADING.split((docstring or "").strip())
        fields = {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}
        missing = [name for name in REQUIRED if name not in fields]
        if missing:
            raise ValueError(f"catalogue entry {candidate.name}: the docstring lacks {', '.join(missing)}.")
        source = _SOURCE.fullmatch(fields["Source"])
        if source is None:
            raise ValueError(
                f"catalogue entry {candidate.name}: `Source` must be `authors, year, arXiv number` or end in a link,"
                f" got {quoted(fields['Source'])}."
            )
        return cls(
            title=title.strip().rstrip("."),
            authors=source["authors"],
            year=int(source["year"]),
            url=source["link"] or f"https://arxiv.org/abs/{source['arxiv']}",
            equation=fields["Tuple"],
            state=fields["State"],
            reference=fields["Reference"],
            known_for=fields["Known for"],
            sizes=fields["Sizes"],
            left_out=fields.get("Left out", ""),
            also=tuple(name.strip() for name in fields.get("Also", "").split(",") if name.strip()),
            candidate=candidate,
        )


def names() -> tuple[str, ...]:
    """Names of all entries in the grammar, sorted; no entry is imported."""
    return units.names(PACKAGE)


def outside_names() -> tuple[str, ...]:
    """Names of the entries that the grammar cannot hold, sorted."""
    return units.names(OUTSIDE_PACKAGE)


@cache
def get(name: str) -> Entry:
    """The entry `name`, in the grammar or outside; only its own file is imported.

    Raises:
        SpecError: there is none; the message names the nearest, or the entry that covers a mixer of that name.
    """
    for package in (PACKAGE, OUTSIDE_PACKAGE):
        if name in units.names(package):
            return units.load_unit(package, name, "entry", Entry)
    covering = next((entry for entry in map(get, (*names(), *outside_names())) if name in entry.also), None)
    if covering is not None:
        raise SpecError(f"{quoted(name)} is described by the catalogue entry `{covering.name}`; use that name.")
    close = nearest(name, (*names(), *outside_names()))
    remedy = f"did you mean `{close}`?" if close else "`sextant catalogue` lists the entries."
    raise SpecError(f"{quoted(name)} is not in the catalogue; {remedy}")
