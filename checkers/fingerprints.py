"""The identity of a finding: what must be equal for two runs to speak of the same one.

It is the hash of the rule, the path in the spec, and the values there of the fields that the rule reads. No line number
is in it, no index of a block, and nothing of the other blocks: an edit elsewhere in the stack changes no identity.
Values at their default are left out, so that a key that joins the grammar changes none; so are suppressions, so that
silencing a finding does not make it a new one. Findings that are equal in all of this count together.
"""

import hashlib
import re
from enum import Enum
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

from checkers.rule import Rule
from designspace.candidate import Candidate
from designspace.events import split_path
from designspace.mixer import MixerSpec
from designspace.spec import Spec

DIGITS = 16  # hexadecimal, 64 bits: no collision among the findings of any repository
CACHE = 4096  # records written out: the parts of a search repeat
MIXER = re.compile(r"blocks\[\d+\]\.mixer(\.parallel\[\d+\])?")
BLOCK = re.compile(r"blocks\[\d+\]")
ORDINAL = re.compile(r"\b(blocks|ignore|approximated)\[\d+\]")
STACK = "blocks"
OF_THE_SPEC = frozenset({"model", "target"})
OF_THE_ENTRY = frozenset({"lint", "approximated"})  # lists of which a rule reports an entry: it reads that one
SUPPRESSIONS = "lint"


Parts = tuple[str | int, ...]


class Field(NamedTuple):
    """A field by its path: the text that names it in an identity, and the parts of the path."""

    name: str
    parts: Parts


class Reads(NamedTuple):
    """What a rule reads: fields of the spec, of a mixer, and whether it reads the entry that it reports."""

    of_the_spec: tuple[Field, ...]
    of_the_mixer: tuple[Field, ...]
    of_the_entry: bool


class Identities:
    """Fingerprints of the findings on one candidate."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.known: dict[tuple[int, Parts], str] = {}  # what a record holds at a field, by the id of the record

    def fingerprint(self, rule: Rule, path: str) -> str:
        """The identity of what the rule finds at the path."""
        reads = _reads(rule.fields_read, rule.reads_stack)
        parts = [rule.code, _place(path)]
        parts += [self._text(self.candidate, field) for field in reads.of_the_spec]
        if reads.of_the_entry:
            parts.append(self._text(self.candidate, _field(path)))
        parts += [self._text(mixer, field) for mixer in self._mixers(path) for field in reads.of_the_mixer]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:DIGITS]

    @cached_property
    def _by_path(self) -> dict[str, MixerSpec]:
        return {located.path: located.mixer for located in self.candidate.mixers()}

    def _mixers(self, path: str) -> list[MixerSpec]:
        """The mixer that the path lies in; those of the block where it names none of them; none outside the blocks."""
        found = MIXER.match(path)
        mixer = self._by_path.get(found[0]) if found else None
        if mixer is not None:
            return [mixer]
        block = BLOCK.match(path)
        inside = f"{block[0]}." if block else None
        return [mixer for place, mixer in self._by_path.items() if inside and place.startswith(inside)]

    def _text(self, owner: Spec, field: Field) -> str:
        """What the record `owner` holds at the field."""
        key = id(owner), field.parts
        text = self.known.get(key)
        if text is None:
            text = self.known[key] = f"{field.name}={_written(_at(owner, field.parts))}"
        return text


@lru_cache(CACHE)
def _reads(fields: tuple[str, ...], reads_stack: bool) -> Reads:
    """A rule about the whole stack reads no block of its own: any other edit would make its findings new."""
    roots = {name: name.partition(".")[0] for name in fields}
    entries = OF_THE_ENTRY if reads_stack else {*OF_THE_ENTRY, STACK}
    outside = {*OF_THE_SPEC, *OF_THE_ENTRY, STACK}
    return Reads(
        of_the_spec=tuple(_field(name) for name, root in roots.items() if root in OF_THE_SPEC),
        of_the_mixer=tuple(_field(name) for name, root in roots.items() if root not in outside),
        of_the_entry=not entries.isdisjoint(roots.values()),
    )


@lru_cache(CACHE)
def _place(path: str) -> str:
    """The path without the positions that an edit elsewhere moves."""
    return ORDINAL.sub(r"\1[]", path)


def _field(path: str) -> Field:
    return Field(_place(path), tuple(split_path(path)))


def _at(owner: Spec, parts: Parts) -> Any:
    """The value at a path; None where the record has no such field."""
    value: Any = owner
    for part in parts:
        if isinstance(part, str):
            value = getattr(value, part, None)
        else:
            value = value[part] if isinstance(value, tuple) and part < len(value) else None
    return value


def _written(value: Any) -> str:
    """The value as text, without suppressions and what stands at its default; a `kind` always stays."""
    kind = type(value)
    if kind is float:
        return repr(value + 0.0)  # -0.0 is 0.0
    if kind is tuple:
        return f"[{','.join(map(_written, value))}]"
    if Spec in kind.__mro__:  # isinstance of a pydantic record is slow
        return _record(value)
    return str(value.value) if isinstance(value, Enum) else repr(value)


@lru_cache(CACHE)
def _record(record: Spec) -> str:
    values = ((name, getattr(record, name), default) for name, default in _defaults(type(record)))
    kept = (f"{name}:{_written(value)}" for name, value, default in values if name == "kind" or value != default)
    return f"{{{','.join(kept)}}}"


@cache
def _defaults(kind: type[Spec]) -> tuple[tuple[str, Any], ...]:
    """Name and default of every field of a record by name, suppressions left out."""
    fields = sorted(kind.model_fields.items())
    return tuple((name, field.get_default(call_default_factory=True)) for name, field in fields if name != SUPPRESSIONS)
