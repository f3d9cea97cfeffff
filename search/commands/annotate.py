"""A candidate as YAML with comments: every key, what its record means, and the values it may take."""

import re
from collections.abc import Iterator
from inspect import getdoc
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from designspace.candidate import Candidate
from designspace.specfile import to_yaml

COMMENT_COLUMN = 48


def annotated(candidate: Candidate) -> str:
    """YAML text that loads back to `candidate`, with a comment at every record and every choice."""
    return "".join(f"{line}\n" for line in _record(candidate, indent=0))


def _record(record: BaseModel, indent: int) -> Iterator[str]:
    for name, field in type(record).model_fields.items():
        yield from _entry(field.alias or name, getattr(record, name), field, indent)


def _entry(key: str, value: Any, field: FieldInfo, indent: int) -> Iterator[str]:
    margin = " " * indent
    match value:
        case BaseModel():
            yield _line(f"{margin}{key}:", _summary(type(value), field))
            yield from _record(value, indent + 2)
        case tuple() if any(isinstance(item, BaseModel) for item in value):
            yield _line(f"{margin}{key}:", field.description or "")
            for item in value:
                first, *rest = _record(item, indent + 2)
                yield f"{margin}- {first.lstrip()}"
                yield from rest
        case _:
            text = (
                to_yaml({key: list(value) if isinstance(value, tuple) else value})
                .strip()
                .removeprefix("{")
                .removesuffix("}")
            )
            yield _line(f"{margin}{text}", " | ".join(_choices(field.annotation)) or field.description or "")


def _line(text: str, comment: str) -> str:
    return f"{text:<{COMMENT_COLUMN}} # {comment}" if comment else text


def _summary(model: type[BaseModel], field: FieldInfo) -> str:
    """First sentence of the record's documentation, and the other kinds it could be."""
    paragraph = " ".join((getdoc(model) or "").partition("\n\n")[0].split())
    sentence = re.match(r".*?\.(?= |$)", paragraph)
    members = get_args(field.annotation) if field.discriminator else ()
    kinds = [str(get_args(member.model_fields["kind"].annotation)[0]) for member in members]
    return (sentence[0] if sentence else paragraph) + (f" Kinds: {' | '.join(kinds)}." if kinds else "")


def _choices(annotation: Any) -> list[str]:
    """The words and types a field takes, where it takes words."""
    if get_origin(annotation) is Literal:
        words = [str(word) for word in get_args(annotation)]
        return words if len(words) > 1 else []
    members = [choice for argument in get_args(annotation) for choice in _choices(argument)]
    if members and float in get_args(annotation):
        members = ["a number", *members]
    return members + ["null"] * (bool(members) and type(None) in get_args(annotation))
