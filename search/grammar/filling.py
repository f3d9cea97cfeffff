"""Fills the holes of the grammar one after the other, and only with what leads to a valid mixer.

An option is possible if the choices so far, this option and the open keys of a known mixer (the last one found, then
the published ones) are a valid mixer. So no rule of validity is written here, every filling is valid, and a published
mixer is reached because it, or one with other numbers only, completes each of its choices.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from designspace.events import KeyPath, quoted
from designspace.mixer import MixerSpec
from designspace.specfile import merged
from search.grammar.holes import BETWEEN, GrammarHole, grammar_holes
from search.grammar.known import Data, at, has, published, words
from search.holes import MAX_LABEL
from workers.protocol import ModelSizes

CONTEXT_DIGITS = 6  # hexadecimal, of what is not possible in a hole
MAX_TRIED = 10  # mixers tried for an option that no published mixer makes possible
MAX_PARTS = 20_000  # in the memory of parts; about a kilobyte each


@dataclass(frozen=True)
class Offer:
    """A hole with what is possible in it.

    Attributes:
        hole: the hole.
        options: the possible values by label.
        between: a number between bounds is possible too.
    """

    hole: GrammarHole
    options: Mapping[str, Any]
    between: bool

    @property
    def name(self) -> str:
        """The name of the hole with what is not possible, so that a name always has the same labels."""
        missing = [label for label in self.hole.labels if label not in self.labels]
        if not missing:
            return self.hole.name
        text = ",".join(missing)
        if len(text) > MAX_LABEL:
            text = f"{len(missing)}:{sha256(text.encode()).hexdigest()[:CONTEXT_DIGITS]}"
        return f"{self.hole.name}<not {text}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of what is possible."""
        return (*self.options, BETWEEN) if self.between else tuple(self.options)


class Decider(Protocol):
    """Takes one of the values of an offer."""

    def value(self, offer: Offer) -> Any:
        """A possible value, or a number between the bounds."""


@dataclass(frozen=True)
class _Part:
    """A field of a mixer as JSON, as plain data, and as a record where that is valid."""

    text: str
    data: Any
    record: Any


@dataclass
class Filling:
    """A mixer while its holes are filled.

    Attributes:
        decider: who decides.
        pins: what was given; never changed.
        known: mixers by part: the valid one found last, then the published ones, all with everything that is decided.
        decided: the pins and every choice so far.
    """

    decider: Decider
    pins: Data
    known: list[dict[str, _Part]]
    decided: Data

    @property
    def found(self) -> Data:
        """A valid mixer with all that is decided."""
        return {name: part.data for name, part in self.known[0].items()}

    def fill(self, hole: GrammarHole, *, is_switch: bool) -> None:
        """Fill one hole, in the order of `grammar_holes`.

        Args:
            hole: the hole.
            is_switch: it is the first of its part, which may switch the part off.
        """
        part = self.known[0][hole.part]
        if not hole.is_open({hole.part: part.data}) or _is_pinned(self.pins, hole):
            return
        if not is_switch and getattr(part.record, "is_identity", False) and self._take(hole, hole.values[0]):
            return
        offer = self._offer(hole)
        first = next(iter(offer.options.values()), at(self.found, hole.path))
        chosen = self.decider.value(offer) if len(offer.labels) > 1 else first
        if not self._take(hole, chosen):
            self._take(hole, first)

    def _offer(self, hole: GrammarHole) -> Offer:
        options = dict(zip(hole.labels, hole.values, strict=False))
        possible = {label: value for label, value in options.items() if self._with(hole, value) is not None}
        ends = hole.ends
        return Offer(hole, possible, bool(ends) and all(self._with(hole, end) is not None for end in ends))

    def _take(self, hole: GrammarHole, value: Any) -> bool:
        """Decide for `value` if that is possible."""
        completion = self._with(hole, value)
        if completion is not None:
            self.known.insert(0, completion)
            self._decide(hole, value)
        return completion is not None

    def _decide(self, hole: GrammarHole, value: Any) -> None:
        self.decided = _laid(self.decided, hole.path, value)
        patch = json.dumps(self.decided[hole.part])
        moved = (known | {hole.part: _overlaid(hole.part, known[hole.part].text, patch)} for known in self.known)
        self.known = list({tuple(map(id, known.values())): known for known in moved}.values())

    def _with(self, hole: GrammarHole, value: Any) -> dict[str, _Part] | None:
        """A valid mixer with all that is decided and `value`, if one is known."""
        if not _agrees(self.pins, hole, value):
            return None
        patch = json.dumps(_laid(self.decided, hole.path, value)[hole.part])
        for known in self.known:
            part = _overlaid(hole.part, known[hole.part].text, patch)
            if part.record is not None and _is_valid(changed := known | {hole.part: part}):
                return changed
        return None


def filling(decider: Decider, pins: Data, sizes: ModelSizes) -> Filling:
    """A filling before its first hole.

    Raises:
        ValueError: no mixer with these `pins` is known to be valid.
    """
    overlaid = [_parts(merged(known, pins)) for known in witnesses(sizes)]
    first = next((known for known in overlaid if _is_valid(known)), None)
    if first is None:
        raise ValueError(f"no valid mixer is known with {quoted(json.dumps(pins))}.")
    return Filling(decider, pins, [first, *overlaid], pins)


def _parts(data: Data) -> dict[str, _Part]:
    return {name: _part(name, json.dumps(one)) for name, one in data.items()}


@lru_cache(MAX_PARTS)
def _overlaid(name: str, text: str, patch: str) -> _Part:
    """The part `text` of a mixer with `patch` laid over it."""
    return _part(name, json.dumps(merged({name: json.loads(text)}, {name: json.loads(patch)})[name]))


@lru_cache(MAX_PARTS)
def _part(name: str, text: str) -> _Part:
    """The field `name` of a mixer with these data; the same object for the same data."""
    try:
        record = _adapter(name).validate_json(text)
    except ValidationError:
        record = None
    return _Part(text, json.loads(text), record)


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(MixerSpec.model_fields[name].rebuild_annotation())


def _is_valid(parts: Mapping[str, _Part]) -> bool:
    """The parts are a valid mixer."""
    try:
        MixerSpec.model_validate({name: part.record for name, part in parts.items()})
    except ValidationError:
        return False
    return True


def _laid(data: Data, path: KeyPath, value: Any) -> Data:
    """`data` with `value` at `path`; mappings are laid over each other."""
    for part in reversed(path):
        value = {str(part): value}
    return merged(data, value)


def _is_pinned(pins: Data, hole: GrammarHole) -> bool:
    """The pins leave nothing to choose in the hole."""
    parent = at(pins, hole.path[:-1])
    if not isinstance(parent, dict) or hole.path[-1] not in parent:
        return False
    pinned = parent[hole.path[-1]]
    fragment = next((value for value in hole.values if isinstance(value, dict)), None)
    return fragment is None or not isinstance(pinned, dict) or fragment.keys() <= pinned.keys()


def _agrees(pins: Data, hole: GrammarHole, value: Any) -> bool:
    """The option leaves every pin as it is."""
    pinned = at(pins, hole.path)
    if not isinstance(pinned, dict):
        return True
    return isinstance(value, dict) and all(has(value[key], pinned[key]) for key in value.keys() & pinned.keys())


@cache
def witnesses(sizes: ModelSizes) -> tuple[Data, ...]:
    """Valid mixers at these sizes: the published ones, and one for every option that none of them makes possible.

    Of published mixers that differ in numbers alone, as the layers of a stack do, the first stands for all.
    """
    kinds: dict[str, Data] = {}
    for data in published(sizes):
        kinds.setdefault(json.dumps(words(data)), data)
    known = list(kinds.values())
    holes = grammar_holes(sizes)
    for hole in holes:
        siblings = [other for other in holes if other.part == hole.part and hole.path[: len(other.path)] != other.path]
        for value in hole.values:
            laid = [_laid(data, hole.path, value) for data in known if hole.is_open(data)]
            if not any(_is_valid(_parts(data)) for data in laid):
                known += _witness(laid, siblings)
    return tuple(known)


def _witness(laid: list[Data], siblings: list[GrammarHole]) -> list[Data]:
    """The first of the invalid mixers that is valid with other values in one or two keys; none if there is none."""
    for count in (1, 2):
        for data in laid[:MAX_TRIED]:
            for changed in _changed(data, siblings, count):
                if _is_valid(_parts(changed)):
                    return [changed]
    return []


def _changed(data: Data, holes: list[GrammarHole], count: int) -> Iterator[Data]:
    """`data` with every combination of values in `count` of the holes."""
    if count == 0:
        yield data
        return
    for index, hole in enumerate(holes):
        for value in (*hole.values, *hole.ends) if hole.is_open(data) else ():
            yield from _changed(_laid(data, hole.path, value), holes[index + 1 :], count - 1)
