"""The holes of the full grammar: one for every key of a mixer, read off the pydantic models.

A literal is a choice, a number one of the published values or any other between bounds, an optional key has null among
its options, a union of records is chosen by its tag and the keys of a record stand below that. What is published is
what the catalogue holds, so a new key, a new value and a new entry extend the space by themselves.

Left out: `execution` and `lint`, which are no part of the function. The sizes of the heads are those of the protocol:
one hole chooses their layout, and whether a key has one channel, which is another mixer and stays so in training.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations
from typing import Any, NamedTuple

from designspace.events import KeyPath
from designspace.mixer import MixerSpec
from search.grammar.known import OUTSIDE, at, has, published
from search.holes import MAX_LABEL, Range
from workers.protocol import ModelSizes

FIRST = ("heads", "lift", "readout", "features", "support")  # the fields that rule out most, chosen before the others
SIZES = ("num_heads", "state_dim", "head_dim")  # of the heads, set by the protocol
BETWEEN = "between"  # label: no published value, but a number between bounds
MAX_LISTED = 16  # whole numbers between the bounds of a key that are listed one by one
SHARE = 1.0  # the bounds of a model are those of its hole if they are this close, as for a share of the channels
WIDER = 4.0  # times the largest published number, or a part of the smallest, is still looked at
FREE = (1.0, 4096.0)  # bounds of a positive number that nothing is published for
DECADES = 100.0  # ratio of the bounds of a pair from which it is searched in logarithms

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class GrammarHole:
    """One choice to be made about a mixer.

    Attributes:
        name: the path with the tags above it, such as `readout<relu>.power`.
        path: where the value belongs.
        labels, values: the options; the first is the default. A mapping is laid over what stands at `path`.
        between: bounds of a number that is none of the options; the label for it is BETWEEN, the last one.
        is_pair: the number is a pair in rising order.
        under: path and tag of every record around the key; the hole exists only inside of them.
    """

    name: str
    path: KeyPath
    labels: tuple[str, ...]
    values: tuple[Any, ...]
    between: Range | None = None
    is_pair: bool = False
    under: tuple[tuple[KeyPath, Any], ...] = ()

    @property
    def part(self) -> str:
        """The field of the mixer that the hole belongs to."""
        return str(self.path[0])

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numbers behind the label BETWEEN."""
        below = f"{self.name}<{BETWEEN}>"
        return (f"{below}[0]", f"{below}[1]") if self.is_pair else (below,)

    @property
    def ends(self) -> list[Any]:
        """The least and the largest value that is none of the options."""
        if self.between is None:
            return []
        bounds = (self.between.low, self.between.high)
        return [self.value([int(end) if self.between.integer else end] * 2) for end in bounds]

    def value(self, numbers: Sequence[float]) -> Any:
        """The value that these numbers are; see `numbers`."""
        return sorted(numbers) if self.is_pair else numbers[0]

    def is_open(self, data: Any) -> bool:
        """The mixer `data` has the records around the key."""
        return all(has(at(data, path), fragment) for path, fragment in self.under)


@cache
def grammar_holes(sizes: ModelSizes) -> tuple[GrammarHole, ...]:
    """Every hole of a mixer with the sizes of a protocol, in the order in which they are filled."""
    schema = MixerSpec.model_json_schema(by_alias=True)
    parts = [name for name in schema["properties"] if name not in OUTSIDE]
    reader = _Reader(schema["$defs"], published(sizes))
    ordered = (*(name for name in FIRST if name in parts), *(name for name in parts if name not in FIRST))
    found = chain.from_iterable(reader.holes(schema["properties"][name], _Place((name,), name)) for name in ordered)
    return (_layouts(schema["$defs"]["Heads"], sizes), *(hole for hole in found if not _is_size(hole)))


def _is_size(hole: GrammarHole) -> bool:
    return hole.part == "heads" and hole.path[-1] in (*SIZES, "layout")


def _layouts(schema: Schema, sizes: ModelSizes) -> GrammarHole:
    """The layouts of the heads at the protocol's sizes, each also with keys of one channel."""
    options: dict[str, dict[str, Any]] = {}
    for layout in schema["properties"]["layout"]["enum"]:
        heads: dict[str, Any] = {"layout": layout} | _sizes(layout, sizes)
        options |= {layout: heads, f"{layout}, state_dim 1": heads | {"state_dim": 1}}
    if sizes.state_dim == 1:
        options = {label: heads for label, heads in options.items() if label in schema["properties"]["layout"]["enum"]}
    return GrammarHole("heads.layout", ("heads",), tuple(options), tuple(options.values()))


def _sizes(layout: str, sizes: ModelSizes) -> dict[str, int]:
    """Sizes of the heads in this layout; see `workers.protocol.ModelSizes`."""
    numbers = (sizes.num_heads, sizes.state_dim, sizes.head_dim)
    if layout == "channel":
        numbers = (sizes.model_dim, sizes.channel_state_dim, 1)
    return dict(zip(SIZES, numbers, strict=True))


class _Place(NamedTuple):
    """Where in a mixer the reader stands."""

    path: KeyPath
    name: str
    under: tuple[tuple[KeyPath, Any], ...] = ()

    def key(self, key: str) -> "_Place":
        return _Place((*self.path, key), f"{self.name}.{key}", self.under)

    def inside(self, label: str, fragment: Any) -> "_Place":
        return _Place(self.path, f"{self.name}<{label}>", (*self.under, (self.path, fragment)))


@dataclass(frozen=True)
class _Reader:
    """Reads holes off a JSON Schema.

    Args:
        definitions: the records by name.
        known: every published mixer as plain data.
    """

    definitions: Schema
    known: tuple[Any, ...]

    def holes(self, node: Schema, place: _Place) -> Iterator[GrammarHole]:
        """The holes of the value that `node` describes."""
        members = self.members(node)
        records = [member for member in members if "properties" in member]
        if len(members) == len(records) == 1:
            for key, child in records[0]["properties"].items():
                yield from self.holes(child, place.key(key))
        elif records:
            yield from self.union(members, records, place)
        else:
            yield self.leaf(node, place)

    def members(self, node: Schema) -> list[Schema]:
        """The alternatives of a node, without references."""
        if "$ref" in node:
            return self.members(self.definitions[node["$ref"].rsplit("/", 1)[-1]])
        inner = node.get("anyOf") or node.get("oneOf")
        return [member for one in inner for member in self.members(one)] if inner else [node]

    def union(self, members: Sequence[Schema], records: Sequence[Schema], place: _Place) -> Iterator[GrammarHole]:
        """Which of several records, or none; then the keys of each."""
        options: dict[str, Any] = {"null": None} if any(one.get("type") == "null" for one in members) else {}
        tags = {_tag(record): record for record in records}
        options |= dict(map(_option_of, tags))
        yield GrammarHole(place.name, place.path, tuple(options), tuple(options.values()), under=place.under)
        for tag, record in tags.items():
            label, fragment = _option_of(tag)
            inner = place.inside(label, fragment)
            for key, child in record["properties"].items():
                if "const" not in child:
                    yield from self.holes(child, inner.key(key))

    def leaf(self, node: Schema, place: _Place) -> GrammarHole:
        """A key without keys below it."""
        members = self.members(node)
        seen = [
            at(data, place.path) for data in self.known if all(has(at(data, path), one) for path, one in place.under)
        ]
        optional = any(one.get("type") == "null" for one in members)
        default = [node["default"]] if "default" in node else []
        values = chain(default, seen, [None] if optional else [], chain.from_iterable(map(_listed, members)))
        options = {_label(value): value for value in values if value is not None or optional}
        between, is_pair = _free(members, list(options.values()))
        labels = tuple(label if len(label) <= MAX_LABEL else f"#{index}" for index, label in enumerate(options))
        return GrammarHole(
            place.name,
            place.path,
            labels=(*labels, BETWEEN) if between else labels,
            values=tuple(options.values()),
            between=between,
            is_pair=is_pair,
            under=place.under,
        )


def _tag(record: Schema) -> tuple[str, str] | None:
    """Key and value that tell a record of a union from the others."""
    return next(((key, child["const"]) for key, child in record["properties"].items() if "const" in child), None)


def _option_of(tag: tuple[str, str] | None) -> tuple[str, Any]:
    return (tag[1], {tag[0]: tag[1]}) if tag else ("given", {})


def _is_number(node: Schema) -> bool:
    return node.get("type") in ("number", "integer")


def _listed(node: Schema) -> list[Any]:
    """The values that the schema itself lists."""
    match node:
        case {"enum": values}:
            return list(values)
        case {"const": value}:
            return [value]
        case {"type": "boolean"}:
            return [False, True]
        case {"type": "integer", "minimum": low, "maximum": high} if high - low < MAX_LISTED:
            return list(range(low, high + 1))
        case {"type": "array", "items": {"enum": values}}:
            return [list(some) for size in range(len(values) + 1) for some in combinations(values, size)]
        case _:
            return []


def _free(members: Sequence[Schema], known: Sequence[Any]) -> tuple[Range | None, bool]:
    """Bounds of the numbers that are not among the `known` options, if any may be; whether they come in pairs."""
    for node in members:
        if _is_number(node) and not _listed(node):
            return _around(node, [value for value in known if _is_known_number(value)]), False
        if len(node.get("prefixItems", ())) == 2 and all(map(_is_number, node["prefixItems"])):
            ends = [end for pair in known if pair is not None for end in pair]
            low, high = min(ends, default=FREE[0]), max(ends, default=FREE[1])
            return Range(low, high, log=0 < low * DECADES < high, integer=False), True
    return None, False


def _is_known_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _around(node: Schema, known: Sequence[float]) -> Range:
    """Where a number may lie: the bounds of a share, else around the known numbers."""
    low, high = node.get("minimum", 0.0), node.get("maximum", float("inf"))
    whole = node["type"] == "integer"
    if not whole and high - low <= SHARE:
        return Range(float(low), float(high), log=False, integer=False)
    positive = [value for value in known if value > 0]
    if low < 0 and (not positive or len(positive) < len(known)):
        reach = WIDER * max((1.0, *map(abs, known)))
        return Range(-reach, reach, log=False, integer=whole)
    smallest, largest = (min(positive) / WIDER, max(positive) * WIDER) if positive else FREE
    if whole:
        smallest, largest = max(1.0, smallest // 1), largest // 1
    return Range(max(smallest, low), min(largest, high), log=True, integer=whole)


def _label(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
