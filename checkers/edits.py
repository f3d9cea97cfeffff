"""Edits of a spec, written into its text: what no edit names keeps its comments, order, quotes and blank lines.

The text is changed at the places that `designspace.document` knows, not written anew: round-trip writers of YAML keep
comments, but indent and wrap the rest of the file again.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from string import whitespace
from typing import Any, NamedTuple

from checkers.edited import edited
from checkers.finding import Fix, Place
from designspace.candidate import Candidate
from designspace.document import Document, Entry, Node, parse
from designspace.events import KeyPath, Mark, join_path, split_path
from designspace.specfile import is_config, load_document, to_yaml

YAML_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what PyYAML counts as the end of a line
JSON_BREAK = re.compile("\n")
ANCHOR = re.compile(r"&\S+\s+")
ALIAS = re.compile(r"\s*:?\s*\*[^\s,\[\]{}]+")
COMMA = re.compile(r"\s*,")
BLANKS = re.compile(r"\s*")
CACHE = 1024  # values: fixes set the same few
SUPPRESSION_KEYS = ("ignore", "lint")  # go when the last thing in them goes, the inner one first
Patch = dict[str | int, Any]  # of a mapping or a list: new values, or patches of what lies below


class Change(NamedTuple):
    """The characters from `start` to `end` become `new`."""

    start: int
    end: int
    new: str


class Replacement(NamedTuple):
    """The region of the file that `inserted` takes the place of; the region of an insertion is empty."""

    place: Place
    inserted: str


class Slot(NamedTuple):
    """An entry of a mapping or an item of a list in the text; `end` is one past its value."""

    name: str | int
    start: int
    end: int


def replacements(text: str, document: Document, fix: Fix, *, candidate: Candidate | None = None) -> list[Replacement]:
    """What the fix replaces in the text, in its order; regions do not overlap, and nothing else of the file changes.

    Args:
        document: what `text` was loaded to (`Loaded.document`).
        candidate: the one that `document` holds, if it is at hand.

    Raises:
        SpecError: the text cannot be edited in place (a config.json, a value that several places share), or the spec
            would not be valid.
    """
    if document.file.endswith(".json") and is_config(parse(text, document.file, special_numbers=True)):
        raise document.error("a config.json is not edited; import it and edit the spec.")
    expected = edited(candidate or load_document(document).candidate, fix.edits)
    values = {split_path(edit.path): edit.value for edit in fix.edits if edit.action == "set"}
    removals = [split_path(edit.path) for edit in fix.edits if edit.action == "remove"]
    source = _Source(text, document)
    changes = _in_order(
        [*source.settings(document.root, _patch(values), expected.model_dump(by_alias=True), ())] if values else [],
        source.removals(removals),
    )
    if "&" in text and load_document(parse(_changed(text, changes), document.file)).candidate != expected:
        raise document.error("several places share a value here; change it by hand.", fix.edits[0].path)
    return [Replacement(source.place(change), change.new) for change in changes]


def with_values(text: str, document: Document, values: Mapping[KeyPath, Any], data: Any) -> str:
    """`text` with a value set at each path.

    Args:
        document: what `text` was parsed to (a file of one `mixer` may stand as a stack of one block).
        data: the whole spec after the edits; a list that the text leaves out is written from it.

    Raises:
        SpecError: the text has no place for one of the keys.
    """
    source = _Source(text, document)
    return _changed(text, _in_order(source.settings(document.root, _patch(values), data, ())))


def without(text: str, document: Document, paths: Iterable[KeyPath]) -> str:
    """`text` without the keys and items at `paths`; a `lint` that nothing is left of goes too.

    Raises:
        SpecError: the text cannot be cut there.
    """
    return _changed(text, _in_order(_Source(text, document).removals(paths)))


def _patch(values: Mapping[KeyPath, Any]) -> Patch:
    """The values as a tree of mappings and lists."""
    patch: Patch = {}
    for path, value in values.items():
        inner = patch
        for part in path[:-1]:
            inner = inner.setdefault(part, {})
        inner[path[-1]] = value
    return patch


def _in_order(*changes: Iterable[Change]) -> list[Change]:
    """The changes by their place in the text, as they come at one place; equal ones, of two aliases, count once."""
    return sorted(dict.fromkeys(chain.from_iterable(changes)), key=lambda change: change[:2])


def _changed(text: str, changes: Iterable[Change]) -> str:
    """The text after all changes, which stand in order."""
    pieces, done = [], 0
    for start, end, new in changes:
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def _children(node: Node) -> Sequence[str | int]:
    match node.content:
        case dict() as entries:
            return list(entries)
        case list() as items:
            return range(len(items))
        case _:
            return ()


def _child(node: Node, name: str | int) -> Node | None:
    content = node.content
    if isinstance(content, dict):
        entry = content.get(str(name))
        return entry.node if entry else None
    if isinstance(content, list) and isinstance(name, int) and name < len(content):
        item: Node = content[name]
        return item
    return None


def _node(document: Document, path: KeyPath) -> Node:
    node = document.root
    for part in path:
        child = _child(node, part)
        if child is None:
            raise document.error(f"the text has no `{join_path(path)}` to take something from.", path)
        node = child
    return node


@lru_cache(CACHE, typed=True)
def _yaml(value: str | float | bool | None) -> str:
    """A scalar in YAML."""
    return to_yaml([value]).strip()[1:-1]


def _written_out(value: Any, data: Any) -> Any:
    """A new value in full: a patch of a list that the text leaves out is the whole list, taken from `data`."""
    if not isinstance(value, dict):
        return value
    if any(isinstance(name, int) for name in value):
        return data
    return {name: _written_out(inner, data[name]) for name, inner in value.items()}


@dataclass(frozen=True)
class _Source:
    """A text with the offsets of its places."""

    text: str
    document: Document

    @cached_property
    def is_json(self) -> bool:
        """The root opens like a JSON object, so that new keys and texts stand in double quotes."""
        return re.match(r'\s*\{\s*["}]', self.text) is not None

    @cached_property
    def line_starts(self) -> list[int]:
        breaks = JSON_BREAK if self.document.file.endswith(".json") else YAML_BREAK
        return [0, *(found.end() for found in breaks.finditer(self.text))]

    @cached_property
    def line_break(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def offset(self, mark: Mark) -> int:
        return self.line_starts[mark.line - 1] + mark.column - 1

    def place(self, change: Change) -> Place:
        """The region of a change."""
        lines = self.line(change.start), self.line(change.end)
        columns = change.start - self.line_starts[lines[0]], change.end - self.line_starts[lines[1]]
        return Place(
            file=self.document.file,
            line=lines[0] + 1,
            column=columns[0] + 1,
            end_line=lines[1] + 1,
            end_column=columns[1] + 1,
        )

    def line(self, offset: int) -> int:
        """Index of the line that holds `offset`."""
        return bisect_right(self.line_starts, offset) - 1

    def line_start(self, offset: int) -> int:
        return self.line_starts[self.line(offset)]

    def line_end(self, offset: int, *, with_break: bool = False) -> int:
        """Offset where the line of `offset` ends, before or after its break."""
        following = self.line(offset) + 1
        end = self.line_starts[following] if following < len(self.line_starts) else len(self.text)
        return end if with_break else self.before_blanks(end, "\r\n\x85\u2028\u2029")

    def before_blanks(self, end: int, blanks: str) -> int:
        """`end`, moved before the `blanks` that lead up to it."""
        while end and self.text[end - 1] in blanks:
            end -= 1
        return end

    def opens_line(self, offset: int) -> bool:
        """Only blanks stand before `offset` on its line."""
        return not self.text[self.line_start(offset) : offset].strip()

    def start(self, node: Node) -> int:
        """Offset of the value itself, after an anchor."""
        start = self.offset(node.start)
        anchor = ANCHOR.match(self.text, start)
        return anchor.end() if anchor else start

    def is_flow(self, node: Node) -> bool:
        return self.text[self.start(node)] in "{["

    def end(self, node: Node, after: int) -> int:
        """Offset one past the last character of a value that stands after `after` (where its key ends).

        A block ends with its last value, not where the next key starts.
        """
        if self.offset(node.start) < after:  # the place of its anchor: here stands an alias
            alias = ALIAS.match(self.text, after)
            return alias.end() if alias else after
        if isinstance(node.content, dict | list) and not self.is_flow(node):
            return max(slot.end for slot in self.slots(node))
        return self.before_blanks(self.offset(node.end), whitespace)

    def slots(self, node: Node) -> list[Slot]:
        """The entries or items of a collection in the order of the text."""
        match node.content:
            case dict() as entries:
                found = [self._entry_slot(name, entry) for name, entry in entries.items()]
            case list() as items:
                found = [self._item_slot(index, item) for index, item in enumerate(items)]
                if any(one.start >= other.start for one, other in pairwise(found)):
                    raise self.document.error("an alias stands in this list; edit it by hand.")
            case _:
                found = []
        return sorted(found, key=lambda slot: slot.start)

    def _item_slot(self, index: int, item: Node) -> Slot:
        start = self.offset(item.start)
        return Slot(index, start, self.end(item, start))

    def _entry_slot(self, name: str, entry: Entry) -> Slot:
        """The entry; the stack made of a lone `mixer` stands where the mixer stands."""
        start, after = self.offset(entry.start), self.offset(entry.end)
        return Slot(name, start, self.end(entry.node, start if entry.start == entry.node.start else after))

    def settings(self, node: Node, patch: Patch, data: Any, path: KeyPath) -> Iterator[Change]:
        """The changes that make `patch` true of the value at `node`."""
        missing: dict[str, Any] = {}
        for name, value in patch.items():
            child = _child(node, name)
            if child is None:
                missing[str(name)] = _written_out(value, data[name])
            elif isinstance(value, dict):
                yield from self.settings(child, value, data[name], (*path, name))
            else:
                yield from self.replacement(child, value, (*path, name))
        if missing:
            yield from self.insertion(node, missing, path)

    def replacement(self, node: Node, value: Any, path: KeyPath) -> Iterator[Change]:
        """A new value; the quotes of a text stay."""
        items = node.content
        if isinstance(items, list) and isinstance(value, tuple | list) and len(value) == len(items):
            for index, (item, new) in enumerate(zip(items, value, strict=True)):
                if item.content != new:
                    yield from self.replacement(item, new, (*path, index))
            return
        if isinstance(items, dict | list):
            raise self.document.error(f"`{join_path(path)}` holds other keys or items; set it by hand.", path)
        start, end = self.start(node), self.offset(node.end)
        old = self.text[start:end]
        if isinstance(value, str) and old[:1] in ("'", '"'):
            yield Change(start, end, f"{old[0]}{value}{old[0]}")
        else:
            yield Change(start, end, ("" if old else " ") + self.literal(value))

    def literal(self, value: Any) -> str:
        """The value on one line."""
        match value:
            case dict():
                entries = [f"{self.literal(name)}: {self.literal(item)}" for name, item in value.items()]
                return "{" + ", ".join(entries) + "}"
            case list() | tuple():
                return "[" + ", ".join(self.literal(item) for item in value) + "]"
            case _ if self.is_json:
                return json.dumps(value)
            case _:
                return _yaml(value)

    def insertion(self, node: Node, missing: Mapping[str, Any], path: KeyPath) -> Iterator[Change]:
        """New keys after the last one of a mapping, on lines of their own where the others have one each."""
        slots = self.slots(node)
        if not isinstance(node.content, dict) or self._is_made_up(path):
            message = f"there is no place for {' and '.join(f'`{name}`' for name in missing)} here; add it by hand."
            raise self.document.error(message, path)
        lines = [f"{self.literal(name)}: {self.literal(value)}" for name, value in missing.items()]
        if not slots:
            yield Change(self.start(node) + 1, self.start(node) + 1, ", ".join(lines))
            return
        last = slots[-1]
        after = self.line_end(last.end)
        column = slots[0].start - self.line_start(slots[0].start)
        indent = self.line_break + " " * column
        if not self.is_flow(node):
            yield Change(after, after, "".join(indent + line for line in lines))
        elif self.opens_line(last.start) and self.line(self.offset(node.end)) > self.line(last.end):
            indent = self.line_break + self.text[self.line_start(last.start) : last.start]
            has_comma = COMMA.match(self.text, last.end) is not None
            if not has_comma:
                yield Change(last.end, last.end, ",")
            yield Change(after, after, ",".join(indent + line for line in lines) + ("," if has_comma else ""))
        else:
            yield Change(last.end, last.end, "".join(f", {line}" for line in lines))

    def _is_made_up(self, path: KeyPath) -> bool:
        """The path names the block that a file of one `mixer` does not write."""
        root = self.document.root.content
        made_up = isinstance(root, dict) and "blocks" in root and root["blocks"].start == root["blocks"].node.start
        return made_up and path in (("blocks",), ("blocks", 0))

    def removals(self, paths: Iterable[KeyPath]) -> Iterator[Change]:
        """The changes that take the keys and items at `paths` away, and a `lint` that nothing is left of."""
        gone = set(paths)
        for name in SUPPRESSION_KEYS:
            for parent in sorted({path[:-1] for path in gone if path[-2:-1] == (name,)}, key=str):
                inside = {path for path in gone if path[:-1] == parent}
                if len(inside) == len(_children(_node(self.document, parent))):
                    gone = (gone - inside) | {parent}
        by_parent: dict[KeyPath, list[str | int]] = {}
        for path in gone:
            by_parent.setdefault(path[:-1], []).append(path[-1])
        for parent, names in by_parent.items():
            yield from self.cuts(_node(self.document, parent), names, parent)

    def cuts(self, node: Node, names: Sequence[str | int], path: KeyPath) -> Iterator[Change]:
        """The changes that take entries or items away."""
        slots = self.slots(node)
        kept = [slot for slot in slots if slot.name not in names]
        if not kept:
            empty = "{}" if isinstance(node.content, dict) else "[]"
            yield Change(self.start(node), self.end(node, self.offset(node.start)), empty)
            return
        tail = [slot for slot in slots if slot.start > kept[-1].start]
        if self.is_flow(node) and tail and not all(self._own_lines(node, slot) for slot in tail):
            yield Change(kept[-1].end, tail[-1].end, "")
            slots = slots[: -len(tail)]
        for slot in slots:
            if slot.name in names:
                yield self._own_lines(node, slot) or self._up_to_the_next(node, slot, path)

    def _own_lines(self, node: Node, slot: Slot) -> Change | None:
        """The lines of an entry or item that shares them with no other."""
        start, end = self._extent(node, slot)
        rest = self.text[end : self.line_end(end)].strip()
        if self.opens_line(start) and (not self.is_flow(node) or (not self.is_json and (not rest or rest[0] == "#"))):
            return Change(self.line_start(start), self.line_end(end, with_break=True), "")
        return None

    def _up_to_the_next(self, node: Node, slot: Slot, path: KeyPath) -> Change:
        """An entry or item that another follows, with the blanks between them."""
        start, end = self._extent(node, slot)
        blanks = BLANKS.match(self.text, end)
        after = blanks.end() if blanks else end
        if self.text[after : after + 1] in ("", "#") or (self.is_flow(node) and end == slot.end):
            raise self.document.error(f"`{join_path((*path, slot.name))}` cannot be cut out here; remove it.", path)
        return Change(start, after, "")

    def _extent(self, node: Node, slot: Slot) -> tuple[int, int]:
        """With the dash of a block item, or the comma after a flow one."""
        if not self.is_flow(node):
            return (self.text.rindex("-", 0, slot.start) if isinstance(node.content, list) else slot.start), slot.end
        comma = COMMA.match(self.text, slot.end)
        return slot.start, comma.end() if comma else slot.end
