"""Reads YAML and JSON as bounded plain data that knows the line and column of every key.

Both syntaxes become one stream of events (`yamltext`, `jsontext`) and one tree. Aliases are counted before they are
expanded, so a file of a few lines that stands for billions of nodes is refused at once.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from designspace import jsontext, yamltext
from designspace.errors import SpecError
from designspace.events import NEW, Event, Mark, Scalar, Span, join_path, nearest, quoted, split_path

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_NODES = 100_000  # after alias expansion


class Node(NamedTuple):
    """A value with its place; `size` and `height` count the nodes below it as if aliases were written out."""

    content: "Scalar | dict[str, Entry] | list[Node]"
    start: Mark
    end: Mark
    size: int = 1
    height: int = 1


class Entry(NamedTuple):
    """A key of a mapping with its place, and the value."""

    start: Mark
    end: Mark
    node: Node


@dataclass(frozen=True)
class Document:
    """One file read: its tree, its name, and where each key stands."""

    file: str
    root: Node
    special_number: SpecError | None = None  # the error for the first NaN or infinity; a spec raises it

    @cached_property
    def data(self) -> Any:
        """Plain dictionaries, lists and scalars; a fresh copy per alias."""
        return _plain(self.root)

    def span(self, path: str | Sequence[str | int] = ()) -> Span:
        """Place of the key at `path`, such as `blocks[0].mixer.readout.kind`.

        A key that is missing stands where its nearest parent stands; inside `{use: NAME}` it stands at `use`.
        """
        node = self.root
        start, end = node.start, _end(node, node.start)
        for part in split_path(path) if isinstance(path, str) else path:
            match node.content:
                case dict() as entries if part in entries or "use" in entries:
                    entry = entries[str(part)] if part in entries else entries["use"]
                    node, start, end = entry.node, entry.start, _end(entry.node, entry.end)
                case list() as items if isinstance(part, int) and part < len(items):
                    node = items[part]
                    start, end = node.start, _end(node, node.start)
                case _:
                    break
        if end <= start:
            end = Mark(start.line, start.column + 1)
        return Span(self.file, start.line, start.column, end.line, end.column)

    def error(self, message: str, path: str | Sequence[str | int] = ()) -> SpecError:
        """A `SpecError` that stands where `path` stands."""
        place = self.span(path)
        dotted = path if isinstance(path, str) else join_path(path)
        return SpecError(message, file=self.file, line=place.line, column=place.column, path=dotted or None)


def read(source: str | os.PathLike[str], *, special_numbers: bool = False) -> Document:
    """The document in the file `source`, or on standard input for `-`.

    Args:
        source: a path, or `-`.
        special_numbers: accept NaN and Infinity, which Hugging Face writes into config.json.

    Raises:
        SpecError: it cannot be read, is too large, or is not one well-formed YAML or JSON document.
    """
    name = "<stdin>" if str(source) == "-" else str(source)
    if name.endswith(".toml"):
        raise SpecError("TOML is for settings (sextant.toml); write the spec as YAML or JSON.", file=name)
    content = sys.stdin.buffer.read(MAX_BYTES + 1) if name == "<stdin>" else _bytes(Path(source))
    if len(content) > MAX_BYTES:
        raise SpecError(f"the file is larger than {MAX_BYTES} bytes; a spec is a few kilobytes.", file=name)
    return parse(_decoded(content, name), name, special_numbers=special_numbers)


def parse(text: str, file: str = "<text>", *, special_numbers: bool = False) -> Document:
    """The document in `text`: JSON if `file` ends in `.json` or the text opens like a JSON object, YAML otherwise."""
    is_json = file.endswith(".json") or (
        not file.endswith((".yaml", ".yml")) and re.match(r'\s*(\{\s*["}]|\[\s*\{\s*")', text) is not None
    )
    builder = _Builder(file, jsontext.events(text, file) if is_json else yamltext.events(text, file))
    document = Document(file, builder.document(), builder.special_number)
    if document.special_number and not special_numbers:
        raise document.special_number
    return document


def _bytes(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise SpecError("it is a directory; name a spec file in it.", file=str(path))
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        like = nearest(path.name, [entry.name for entry in _siblings(path)])
        hint = f"did you mean `{path.parent / like}`?" if like else "check the path."
        raise SpecError(f"no such file; {hint}", file=str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot be read ({reason}); check the path and its permissions.", file=str(path)) from None


def _siblings(path: Path) -> list[Path]:
    try:
        return list(path.parent.iterdir())
    except OSError:
        return []


def _decoded(content: bytes, name: str) -> str:
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise SpecError("the file is binary; give a YAML or JSON file saved as UTF-8.", file=name, line=line)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"byte {error.start} is not UTF-8 text; give a YAML or JSON file saved as UTF-8."
        raise SpecError(message, file=name, line=line) from None


def _end(node: Node, key_end: Mark) -> Mark:
    """Where the region of a key ends: after its value if that is a scalar, after the key itself if it is larger."""
    return key_end if isinstance(node.content, dict | list) else node.end


def _plain(node: Node) -> Any:
    match node.content:
        case dict() as entries:
            return {key: _plain(entry.node) for key, entry in entries.items()}
        case list() as items:
            return [_plain(item) for item in items]
        case scalar:
            return scalar


class _Builder:
    """Makes the tree of an event stream, within the bounds."""

    def __init__(self, file: str, events: Iterator[Event]) -> None:
        self.file = file
        self.events = events
        self.special_number: SpecError | None = None
        self.nodes = 0
        self.anchors: dict[str, Node | None] = {}  # None while the anchored node is still open

    def document(self) -> Node:
        """The root, which must be a mapping and the only document."""
        first = next(self.events, None)
        if first is None:
            raise SpecError("the file is empty; a spec needs `blocks` or `mixer`.", file=self.file, line=1)
        root = self.node(first, depth=1)
        if not isinstance(root.content, dict):
            raise self.error(
                "the file must hold a mapping of keys; a spec starts with `blocks:` or `mixer:`.", first.start
            )
        second = next(self.events, None)
        if second is not None:
            raise self.error("a second document starts here; give one spec per file.", second.start)
        return root

    def node(self, event: Event, depth: int) -> Node:
        """The node that starts with `event`, at `depth` levels from the top."""
        if event.kind == "alias":
            return self.aliased(event, depth)
        self.spend(1, event.start)
        if event.kind == "scalar":
            node = NEW(Node, (event.value, event.start, event.end, 1, 1))
            if isinstance(event.value, float) and not isfinite(event.value) and self.special_number is None:
                message = f"{quoted(event.text)} is not a finite number; give a finite one."
                self.special_number = self.error(message, event.start)
        else:
            if depth > MAX_DEPTH:
                raise self.error(f"nesting is deeper than {MAX_DEPTH} levels; flatten the spec.", event.start)
            if event.anchor:
                self.anchors[event.anchor] = None
            node = self.mapping(event, depth) if event.kind == "mapping" else self.sequence(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def mapping(self, opening: Event, depth: int) -> Node:
        entries: dict[str, Entry] = {}
        size, height = 1, 0
        while (key := next(self.events)).kind != "end":
            self.check_key(key, entries)
            node = self.node(next(self.events), depth + 1)
            entries[key.text] = NEW(Entry, (key.start, key.end, node))
            size, height = size + node.size, max(height, node.height)
        return Node(entries, opening.start, key.end, size, height + 1)

    def sequence(self, opening: Event, depth: int) -> Node:
        items: list[Node] = []
        size, height = 1, 0
        while (event := next(self.events)).kind != "end":
            node = self.node(event, depth + 1)
            items.append(node)
            size, height = size + node.size, max(height, node.height)
        return Node(items, opening.start, event.end, size, height + 1)

    def aliased(self, event: Event, depth: int) -> Node:
        name = str(event.anchor)
        if name not in self.anchors:
            raise self.error(
                f"alias `*{name}` has no anchor `&{name}` before it; define it or write it out.", event.start
            )
        node = self.anchors[name]
        if node is None:
            raise self.error(f"alias `*{name}` lies inside its own anchor, a cycle; write the value out.", event.start)
        self.spend(node.size, event.start)
        if depth + node.height - 1 > MAX_DEPTH:
            raise self.error(f"nesting is deeper than {MAX_DEPTH} levels with aliases; flatten the spec.", event.start)
        return node

    def check_key(self, key: Event, entries: dict[str, Entry]) -> None:
        if key.kind != "scalar":
            raise self.error("a key must be a plain name, not a collection or an alias.", key.start)
        if key.text == "<<":
            raise self.error("merge keys `<<` are not supported; write the keys out or say `use: NAME`.", key.start)
        if key.text in entries:
            first = entries[key.text].start.line
            message = f"key {quoted(key.text)} stands twice, on lines {first} and {key.start.line}; remove one."
            raise self.error(message, key.start)

    def spend(self, nodes: int, at: Mark) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self.error(f"more than {MAX_NODES} values (aliases written out); make the spec smaller.", at)

    def error(self, message: str, at: Mark) -> SpecError:
        return SpecError(message, file=self.file, line=at.line, column=at.column)
