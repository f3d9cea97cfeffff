"""YAML text as events, with scalars read by the core schema of YAML 1.2 (so `1e0` is a number and `on` a name)."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml

from designspace.errors import SpecError
from designspace.events import MAX_INTEGER_DIGITS, NEW, Event, EventKind, Mark, Scalar

NULL = re.compile(r"|~|null|Null|NULL")
BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
INTEGER = re.compile(r"[-+]?[0-9]+")
PREFIXED_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
SPECIAL = re.compile(r"([-+]?)\.?(nan|inf|infinity)", re.IGNORECASE)

KINDS: dict[type, EventKind] = {
    yaml.ScalarEvent: "scalar",
    yaml.MappingStartEvent: "mapping",
    yaml.SequenceStartEvent: "sequence",
    yaml.MappingEndEvent: "end",
    yaml.SequenceEndEvent: "end",
    yaml.AliasEvent: "alias",
}
PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CACHE = 4096  # scalars: the files of a folder hold the same words and numbers


@lru_cache(CACHE)
def resolved(text: str) -> Scalar:
    """The value of an unquoted scalar by the YAML 1.2 core schema; every spelling of NaN and infinity is a number."""
    if INTEGER.fullmatch(text):
        return int(text) if len(text) <= MAX_INTEGER_DIGITS else float(text)
    if NULL.fullmatch(text):
        return None
    if BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if NUMBER.fullmatch(text):
        return float(text)
    if PREFIXED_INTEGER.fullmatch(text):
        return int(text[:MAX_INTEGER_DIGITS], base=0)
    if special := SPECIAL.fullmatch(text):
        return float(special[1] + special[2])
    return text


def events(text: str, file: str) -> Iterator[Event]:
    """The events of the documents in `text`, lazily.

    Raises:
        SpecError: the text is not YAML, or a value carries a tag.
    """
    try:
        for event in yaml.parse(text, Loader=PARSER):
            if (converted := _converted(event, file)) is not None:
                yield converted
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = _mark(mark) if mark else Mark(1, 1)
        raise SpecError(f"not valid YAML: {_reason(error)}", file=file, line=at.line, column=at.column) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position if isinstance(error.position, int) else 0) + 1
        message = f"not valid YAML: character {error.character!r} is not allowed; save the file as plain UTF-8 text."
        raise SpecError(message, file=file, line=line) from None


def _converted(event: Any, file: str) -> Event | None:
    """Our event for one of PyYAML's; None for the ends of streams and documents."""
    kind = KINDS.get(type(event))
    if kind is None:
        return None
    start, end = _mark(event.start_mark), _mark(event.end_mark)
    if kind == "end":
        return NEW(Event, (kind, start, end, None, "", None))
    if kind == "alias":
        return Event("alias", start, end, anchor=event.anchor)
    if event.tag is not None:
        shown = event.tag.replace("tag:yaml.org,2002:", "!!")
        message = f"tag `{shown}` is not allowed (specs hold only text, numbers, true, false and null); remove the tag."
        raise SpecError(message, file=file, line=start.line, column=start.column)
    if kind == "scalar":
        text = event.value
        return NEW(Event, (kind, start, end, resolved(text) if event.implicit[0] else text, text, event.anchor))
    return NEW(Event, (kind, start, end, None, "", event.anchor))


def _mark(mark: Any) -> Mark:
    return NEW(Mark, (mark.line + 1, mark.column + 1))


def _reason(error: yaml.MarkedYAMLError) -> str:
    problem = str(error.problem or error.context).rstrip(".")
    if "cannot start any token" in problem:
        return f"{problem}; indent with spaces, not tabs, and quote text that starts with a special character."
    if "nesting depth" in problem:
        return f"{problem}; flatten the spec."
    return f"{problem}; check the indentation, the brackets and the quotes here."
