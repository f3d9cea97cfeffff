"""The full grammar as a space: `mixer: {grammar: full}` stands for any valid mixer, with every key a hole.

Keys beside `grammar` are pinned: `{grammar: full, readout: {kind: identity}}`. The holes (`search.grammar.holes`) are
filled one after the other, and only with what leads to a valid mixer (`search.grammar.filling`), so every filling is
valid and every mixer of the catalogue is reached:

- only what is possible is offered, and named in the hole: `scaling.gate<not complement,sqrt_1_minus_a2>`;
- a hole with one possible option is not asked;
- the keys of a part of A_t that is the identity are not asked, and stand at their default;
- a number between published ones that turns out to be impossible gives way to the first possible option.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from designspace.document import Document, Entry, Node
from designspace.events import KeyPath, join_path, quoted
from designspace.mixer import MixerSpec
from designspace.specfile import merged
from search.grammar.filling import Decider, Offer, filling
from search.grammar.holes import BETWEEN, SIZES, GrammarHole, grammar_holes
from search.grammar.known import Data, at, has, plain, resized
from search.holes import Chooser, Range
from workers.protocol import ModelSizes

KEY, FULL = "grammar", "full"
MARK = f"<{FULL}>"  # in the name of every hole of the grammar


@dataclass(frozen=True)
class Grammar:
    """The grammar at the sizes of a protocol."""

    sizes: ModelSizes

    @property
    def holes(self) -> tuple[GrammarHole, ...]:
        """Every hole, in the order in which they are filled."""
        return grammar_holes(self.sizes)

    def fill(self, chooser: Chooser, name: str = "", pins: Mapping[str, Any] | None = None) -> Data:
        """A mixer as plain data: `chooser` decides, the keys in `pins` stay.

        Args:
            chooser: asked for each open hole by its name.
            name: what stands before the name of each hole.
            pins: part of a mixer.

        Raises:
            ValueError: no mixer with these `pins` is known to be valid.
        """
        return self._filled(_Drawing(chooser, name), dict(pins or {}))

    def encode(self, mixer: MixerSpec) -> dict[str, str | float]:
        """The value of every hole that makes `mixer`, at the sizes of this grammar.

        Raises:
            ValueError: no filling makes it; the message names the first key that differs.
        """
        wanted = plain(resized(mixer, self.sizes))
        reading = _Reading(wanted)
        found = self._filled(reading, {})
        if path := _difference(found, wanted, ()):
            values = f"it gives {quoted(at(found, path))} for {quoted(at(wanted, path))}"
            raise ValueError(f"the grammar does not reach {quoted(join_path(path))} of this mixer: {values}.")
        return reading.values

    def decode(self, values: Mapping[str, str | float]) -> MixerSpec:
        """The mixer that `values` of the holes make; a hole without a value takes its first option."""
        return MixerSpec.model_validate_json(json.dumps(self.fill(_Looking(values))))

    def _filled(self, decider: Decider, pins: Data) -> Data:
        mixer = filling(decider, pins, self.sizes)
        for _, holes in groupby(self.holes, lambda hole: hole.part):
            for index, hole in enumerate(holes):
                mixer.fill(hole, is_switch=index == 0)
        return mixer.found


@dataclass(frozen=True)
class _Drawing:
    """Asks a chooser."""

    chooser: Chooser
    prefix: str

    def value(self, offer: Offer) -> Any:
        label = self.chooser.label(self.prefix + offer.name, offer.labels)
        hole = offer.hole
        if label != BETWEEN or hole.between is None:
            return offer.options[label]
        return hole.value([self.chooser.number(self.prefix + name, hole.between) for name in hole.numbers])


@dataclass(frozen=True)
class _Reading:
    """Takes what a mixer has, and notes it under the names that a chooser would see."""

    wanted: Data
    values: dict[str, str | float] = field(default_factory=dict)

    def value(self, offer: Offer) -> Any:
        hole, wanted = offer.hole, at(self.wanted, offer.hole.path)
        label = next((label for label, value in offer.options.items() if has(wanted, value)), offer.labels[-1])
        self.values[offer.name] = label
        if label != BETWEEN or hole.between is None:
            return offer.options[label]
        ends = wanted if hole.is_pair else [wanted]
        numbers = [min(max(end, hole.between.low), hole.between.high) for end in ends]
        self.values.update(zip(hole.numbers, numbers, strict=True))
        return hole.value(numbers)


@dataclass(frozen=True)
class _Looking:
    """Fills holes with given values."""

    values: Mapping[str, str | float]

    def label(self, name: str, labels: tuple[str, ...]) -> str:
        return str(self.values.get(name, labels[0]))

    def number(self, name: str, bounds: Range) -> float:
        value = float(self.values.get(name, bounds.low))
        return int(value) if bounds.integer else value


def _difference(one: Any, other: Any, path: KeyPath) -> KeyPath:
    """Path of the first key that differs; empty if none does."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((found for key in one if (found := _difference(one[key], other[key], (*path, key)))), ())
    return () if has(one, other) else path


def expanded(document: Document, node: Node, chooser: Chooser, sizes: ModelSizes, path: KeyPath = ()) -> Node:
    """`node` with every `{grammar: full, ...}` in it replaced by the mixer that `chooser` makes of it.

    Args:
        document: where the node stands, for errors.
        node: the node at `path`, without other holes.
        chooser: decides.
        sizes: of the heads, where the file does not pin them.
        path: where the node stands.

    Raises:
        SpecError: `grammar` has another value, or stands beside `use` or `parallel`.
    """
    match node.content:
        case dict() as entries if KEY in entries:
            return _mixer(document, node, chooser, sizes, path)
        case dict() as entries:
            return node._replace(
                content={
                    key: entry._replace(node=expanded(document, entry.node, chooser, sizes, (*path, key)))
                    for key, entry in entries.items()
                }
            )
        case list() as items:
            return node._replace(
                content=[expanded(document, item, chooser, sizes, (*path, index)) for index, item in enumerate(items)]
            )
        case _:
            return node


def _mixer(document: Document, node: Node, chooser: Chooser, sizes: ModelSizes, path: KeyPath) -> Node:
    data = Document("", node).data
    if data.pop(KEY) != FULL:
        raise document.error(f"`{KEY}` must be `{FULL}`; name a published mixer with `use: NAME`.", (*path, KEY))
    for other in ("use", "parallel"):
        if other in data:
            raise document.error(f"`{KEY}` and `{other}` exclude each other; remove one.", (*path, other))
    try:
        mixer = Grammar(_pinned(sizes, data)).fill(chooser, f"{join_path(path)}{MARK}.", data)
    except ValueError:
        mixer = merged(plain(MixerSpec()), data)  # is not valid: its loading says why, and where
    return _node(mixer, node)


def _pinned(sizes: ModelSizes, pins: Data) -> ModelSizes:
    """The sizes with those that are pinned."""
    heads = pins.get("heads")
    given = {key: heads[key] for key in SIZES if isinstance(heads, dict) and type(heads.get(key)) is int}
    if "state_dim" in given:
        given["channel_state_dim"] = given["state_dim"]
    changed = sizes.model_copy(update=given)
    return changed.model_copy(update={"model_dim": changed.num_heads * changed.head_dim}) if given else changed


def _node(data: Any, like: Node) -> Node:
    """`data` as a node that stands where `like` stands, key by key."""
    if not isinstance(data, dict):
        return like._replace(content=[_node(item, like) for item in data] if isinstance(data, list) else data)
    entries = like.content if isinstance(like.content, dict) else {}
    made = {}
    for key, value in data.items():
        entry = entries.get(key, Entry(like.start, like.end, like))
        made[key] = entry._replace(node=_node(value, entry.node))
    return like._replace(content=made)
