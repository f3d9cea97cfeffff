"""Reads a TOML file as a `Document`, which knows the line and column of every key. Source: toml.io, version 1.0.

`tomllib` decides what the text says; the scanner here, which may trust it to be well formed, only finds the keys.
"""

import re
from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from designspace.document import MAX_BYTES, Document, Entry, Node
from designspace.errors import SpecError
from designspace.events import KeyPath, Mark

BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
KEY = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
MAX_PARTS = 64  # of a dotted key
TOKEN = re.compile(  # comments and strings are passed whole, so that what they hold is no key
    r'#[^\n]*|"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\''
    rf"|(?P<long>(?:(?:{KEY.pattern})[ \t]*\.[ \t]*){{{MAX_PARTS}}})|{KEY.pattern}|.",
    re.DOTALL,
)
DOT = re.compile(r"[ \t]*\.[ \t]*")
STRING = re.compile(r'"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
BARE = re.compile(r"[^,\]}#\r\n]+")  # a number, a boolean or a date
ERROR_PLACE = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")

Places = Mapping[KeyPath, Mark]


def read(path: Path, *, table: KeyPath = (), shown: str | None = None) -> Document | None:
    """The document in the file, or in its `table`; None where it has no such table.

    Args:
        shown: name of the file in messages.

    Raises:
        SpecError: it cannot be read or is no TOML, or the `table` is something else.
    """
    name = shown or str(path)
    text = _text(path, name)
    data: Any = _parsed(text, name)
    places: dict[KeyPath, Mark] = {}
    for path_of_key, mark in _places(text):
        places.setdefault(path_of_key, mark)
    for part in table:
        data = data.get(part) if isinstance(data, dict) else None
    if data is None:
        return None
    start = places.get(table, Mark(1, 1))
    if not isinstance(data, dict):
        message = f"`{'.'.join(map(str, table))}` must be a table; write it as `[{'.'.join(map(str, table))}]`."
        raise SpecError(message, file=name, line=start.line, column=start.column)
    return Document(name, _node(data, table, places, start))


def _text(path: Path, name: str) -> str:
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise SpecError(f"the file is larger than {MAX_BYTES} bytes; settings are a few kilobytes.", file=name)
        return content.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except FileNotFoundError:
        raise SpecError("no such settings file; check the path.", file=name) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(f"cannot be read ({reason}); check the path and its permissions.", file=name) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SpecError(f"byte {error.start} is not UTF-8 text; save it as UTF-8.", file=name, line=line) from None


def _parsed(text: str, name: str) -> dict[str, Any]:
    import tomllib  # only where a settings file exists

    _refuse_long_keys(text, name)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a plain ValueError
        found = ERROR_PLACE.search(str(error))
        line = int(found[1]) if found and found[1] else len(text.splitlines()) or 1
        message = f"not a TOML file: {ERROR_PLACE.sub('', str(error)).strip()}; correct it."
        raise SpecError(message, file=name, line=line) from None


def _refuse_long_keys(text: str, name: str) -> None:
    """Raise on a dotted key of many parts: time and memory of a parser grow with the square of their number."""
    for found in TOKEN.finditer(text):
        if found["long"] is not None:
            message = f"a dotted key has more than {MAX_PARTS} parts; settings have at most four."
            raise SpecError(message, file=name, line=text.count("\n", 0, found.start()) + 1)


def _node(data: Any, path: KeyPath, places: Places, start: Mark) -> Node:
    """The tree of `data`; what has no place of its own stands where its parent stands."""
    match data:
        case dict():
            entries = {}
            for key, value in data.items():
                at = places.get((*path, key), start)
                entries[key] = Entry(at, at, _node(value, (*path, key), places, at))
            return Node(entries, start, start)
        case list():
            items = [
                _node(item, (*path, index), places, places.get((*path, index), start))
                for index, item in enumerate(data)
            ]
            return Node(items, start, start)
        case str() | bool() | int() | float():
            return Node(data, start, start)
        case _:  # a date
            return Node(str(data), start, start)


def _places(text: str) -> Iterator[tuple[KeyPath, Mark]]:
    """Where each key and each item of a list stands in a well-formed text."""
    lines = [match.start() for match in re.finditer(r"^", text, re.MULTILINE)]
    tables: dict[KeyPath, int] = {}  # how often `[[path]]` was opened
    scanner = _Scanner(text, lines)
    table: KeyPath = ()
    while scanner.skip():
        if scanner.next_is("["):
            table = yield from scanner.header(tables)
        else:
            yield from scanner.assignment(table)


class _Scanner:
    """A position in the text, moved forward by what is read."""

    def __init__(self, text: str, lines: list[int]) -> None:
        self.text = text
        self.lines = lines
        self.position = 0

    def skip(self) -> bool:
        """Pass blanks and comments; False at the end of the text."""
        self.take(BLANK)
        return self.position < len(self.text)

    def next_is(self, character: str) -> bool:
        return self.text.startswith(character, self.position)

    def take(self, pattern: re.Pattern[str]) -> str:
        """What the pattern matches here, which is passed."""
        found = pattern.match(self.text, self.position)
        if found is None:
            return ""
        self.position = found.end()
        return found[0]

    def mark(self) -> Mark:
        line = bisect_right(self.lines, self.position)
        return Mark(line, self.position - self.lines[line - 1] + 1)

    def key(self) -> list[tuple[str, Mark]]:
        """The parts of a dotted key with their places."""
        parts = []
        while True:
            start = self.mark()
            parts.append((_unquoted(self.take(KEY)), start))
            if not self.take(DOT):
                return parts

    def header(self, tables: dict[KeyPath, int]) -> Generator[tuple[KeyPath, Mark], None, KeyPath]:
        """Places of `[a.b]` or `[[a.b]]`; returns the path that the keys below it have."""
        opening = 2 if self.next_is("[[") else 1
        self.position += opening
        self.take(BLANK)
        path: KeyPath = ()
        for name, start in self.key():
            path = (*path, tables[path] - 1, name) if path in tables else (*path, name)
            yield path, start
        self.take(BLANK)
        self.position += opening
        if opening == 2:
            tables[path] = tables.get(path, 0) + 1
            path = (*path, tables[path] - 1)
        return path

    def assignment(self, table: KeyPath) -> Iterator[tuple[KeyPath, Mark]]:
        """Places of `a.b = value` and of what the value holds."""
        path = table
        for name, start in self.key():
            path = (*path, name)
            yield path, start
        self.take(BLANK)
        self.position += len("=")
        yield from self.value(path)

    def value(self, path: KeyPath) -> Iterator[tuple[KeyPath, Mark]]:
        self.skip()
        if self.next_is("["):
            self.position += 1
            index = 0
            while self.skip() and not self.next_is("]"):
                yield (*path, index), self.mark()
                yield from self.value((*path, index))
                index += 1
                self.comma()
            self.position += 1
        elif self.next_is("{"):
            self.position += 1
            while self.skip() and not self.next_is("}"):
                yield from self.assignment(path)
                self.comma()
            self.position += 1
        else:
            self.take(STRING if self.next_is('"') or self.next_is("'") else BARE)

    def comma(self) -> None:
        self.skip()
        self.position += self.next_is(",")


def _unquoted(key: str) -> str:
    import tomllib

    return key if key[:1] not in ('"', "'") else str(tomllib.loads(f"key = {key}")["key"])
