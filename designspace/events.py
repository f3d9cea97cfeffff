"""What the YAML and the JSON reader share: places in a text, parser events, and how messages quote a value."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

SHOWN_CHARACTERS = 40  # of a value quoted in a message
CACHE = 4096  # paths: those of one spec, and the fields that rules read
MAX_INTEGER_DIGITS = 300  # of an integer in a file: what still fits a float64
Scalar = str | int | float | bool | None
EventKind = Literal["scalar", "mapping", "sequence", "end", "alias"]
KeyPath = tuple[str | int, ...]


NEW = tuple.__new__  # of named tuples a file has hundreds of: in half of the time of their constructors


class Mark(NamedTuple):
    """A place in a text; lines and columns count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Span:
    """A region of a file; `end_column` is one past the last character."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Event(NamedTuple):
    """A step of a parser: a scalar, the opening or the end of a collection, or an alias of an anchor."""

    kind: EventKind
    start: Mark
    end: Mark
    value: Scalar = None
    text: str = ""
    anchor: str | None = None


@lru_cache(CACHE)
def split_path(path: str) -> KeyPath:
    """Parts of a dotted path: `blocks[0].mixer` is `("blocks", 0, "mixer")`."""
    parts = re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)
    return tuple(int(index) if index else name for name, index in parts)


def join_path(parts: Sequence[str | int]) -> str:
    """The dotted path of `parts`: `("blocks", 0, "mixer")` is `blocks[0].mixer`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def quoted(value: object) -> str:
    """`value` in backticks, shortened, on one line, for a message."""
    text = " ".join(str(value).split())
    return f"`{text[:SHOWN_CHARACTERS]}...`" if len(text) > SHOWN_CHARACTERS else f"`{text}`"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The entry of `known` most like `name`, if one is like it."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)), None)
