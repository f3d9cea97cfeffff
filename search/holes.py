"""Holes in a spec, at any depth: `{choice: [...]}` and `{range: [lo, hi], log: bool, int: bool}`, and their filling.

An item of a choice may hold further holes; they exist only where that item is taken. The name of a hole is its path,
with the labels of the choices above it: `blocks[0].mixer<gated_deltanet>.decay.initial[0]`. Names and labels are stable
as long as the file keeps its keys, so a study can be resumed after options were added elsewhere.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

from designspace.document import Document, Entry, Node
from designspace.events import KeyPath, quoted
from designspace.specfile import RANGE_KEYS

MAX_OPTIONS = 1000  # of one choice; more numbers are a range
MAX_LABEL = 60  # characters of an item written out; a longer one is called by its place
TAGS = ("use", "kind", "name")  # keys that name a mapping, best first
RANGE_IS_A_FIELD = "decay"  # `decay: {range: [0, 1]}` is the decay's own range, not a hole


@dataclass(frozen=True)
class Choice:
    """One of several items, each known by its label."""

    labels: tuple[str, ...]
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Range:
    """A number between two bounds, both included."""

    low: float
    high: float
    log: bool
    integer: bool


class Chooser(Protocol):
    """Decides what goes into a hole."""

    def label(self, name: str, labels: tuple[str, ...]) -> str:
        """One of `labels`."""

    def number(self, name: str, bounds: Range) -> float:
        """A number within `bounds`; an integer where they say so."""


def fill(document: Document, node: Node, chooser: Chooser, path: KeyPath = (), name: str = "") -> Node:
    """`node` with every hole filled; what is left keeps its line and column.

    Args:
        document: where the node stands, for errors.
        node: the node at `path`.
        chooser: decides.
        path: where the node stands in the document.
        name: its name, which skips the `choice` keys above it.

    Raises:
        SpecError: a hole is malformed.
    """
    match hole(document, node, path):
        case Choice(labels=labels, items=items):
            label = chooser.label(name, labels)
            index = labels.index(label)
            return fill(document, items[index], chooser, (*path, "choice", index), f"{name}<{label}>")
        case Range() as bounds:
            return Node(chooser.number(name, bounds), node.start, node.end)
        case None:
            return node._replace(content=_filled_content(document, node, chooser, path, name))


def hole(document: Document, node: Node, path: KeyPath) -> Choice | Range | None:
    """The hole that `node` is, if it is one.

    Raises:
        SpecError: it is malformed.
    """
    keys = node.content.keys() if isinstance(node.content, dict) else frozenset()
    if "choice" in keys:
        return _choice(document, node, path)
    parent = next((part for part in reversed(path) if isinstance(part, str) and part != "choice"), None)
    if "range" in keys and keys <= RANGE_KEYS and parent != RANGE_IS_A_FIELD:
        return _range(document, node, path)
    return None


def _filled_content(document: Document, node: Node, chooser: Chooser, path: KeyPath, name: str) -> Any:
    match node.content:
        case dict() as entries:
            return {
                key: entry._replace(
                    node=fill(document, entry.node, chooser, (*path, key), f"{name}.{key}".removeprefix("."))
                )
                for key, entry in entries.items()
            }
        case list() as items:
            return [
                fill(document, item, chooser, (*path, index), f"{name}[{index}]") for index, item in enumerate(items)
            ]
        case scalar:
            return scalar


def _choice(document: Document, node: Node, path: KeyPath) -> Choice:
    entries = _entries(node)
    others = sorted(entries.keys() - {"choice"})
    if others:
        raise document.error(f"a choice stands alone, got also {quoted(', '.join(others))}; move it.", path)
    items = entries["choice"].node.content
    if not isinstance(items, list) or not items:
        raise document.error("`choice` must be a list of at least one item.", (*path, "choice"))
    if len(items) > MAX_OPTIONS:
        raise document.error(f"a choice of {len(items)} items; give at most {MAX_OPTIONS}.", (*path, "choice"))
    labels = _labels(items)
    twice, count = Counter(labels).most_common(1)[0]
    if count > 1:
        raise document.error(f"the choice has {quoted(twice)} twice; remove one.", (*path, "choice"))
    return Choice(labels, tuple(items))


def _labels(items: list[Node]) -> tuple[str, ...]:
    """A short name per item: the key that tells mappings apart, else the value written out, else its place."""
    data = [_data(item) for item in items]
    mappings = [item for item in data if isinstance(item, dict)]
    if len(mappings) == len(data):
        for key in (*TAGS, *mappings[0]):
            values = [item.get(key) for item in mappings]
            if all(isinstance(value, str) for value in values) and len(set(values)) == len(values):
                return tuple(str(value) for value in values)
    written = [value if isinstance(value, str) else json.dumps(value, separators=(",", ":")) for value in data]
    return tuple(text if len(text) <= MAX_LABEL else f"#{index}" for index, text in enumerate(written))


def _range(document: Document, node: Node, path: KeyPath) -> Range:
    data = _data(node)
    bounds, log, integer = data["range"], data.get("log", False), data.get("int", False)
    numbers = [one for one in bounds if _is_number(one)] if isinstance(bounds, list) else []
    if not isinstance(bounds, list) or len(bounds) != 2 or len(numbers) != 2:
        raise document.error(f"`range` must be [lo, hi], two numbers, got {quoted(bounds)}.", (*path, "range"))
    low, high = numbers
    for key, value in (("log", log), ("int", integer)):
        if not isinstance(value, bool):
            raise document.error(f"`{key}` must be true or false, got {quoted(value)}.", (*path, key))
    if not low < high:
        raise document.error(f"`range` must rise, got [{low:g}, {high:g}]; swap or widen it.", (*path, "range"))
    if log and low <= 0:
        raise document.error(f"a log range must start above 0, got {low:g}.", (*path, "range"))
    if integer and not (float(low).is_integer() and float(high).is_integer()):
        raise document.error(f"an int range needs whole bounds, got [{low:g}, {high:g}].", (*path, "range"))
    return Range(float(low), float(high), log, integer)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _entries(node: Node) -> dict[str, Entry]:
    return node.content if isinstance(node.content, dict) else {}


def _data(node: Node) -> Any:
    return Document("", node).data
