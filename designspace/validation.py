"""Validates a document against a pydantic model; every error becomes a `SpecError` with its line and a remedy."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from designspace.document import Document
from designspace.errors import SpecError
from designspace.events import KeyPath, join_path, nearest, quoted
from designspace.yamltext import resolved

Model = TypeVar("Model", bound=BaseModel)
Schema = Mapping[str, Any]
MAX_EXACT_INTEGER = 2.0**53  # of a float64
MAX_LISTED = 12  # keys or values named in one message


def validate(document: Document, model: type[Model], data: Any = None) -> Model:
    """`data` (the document's own by default) as a `model`.

    Raises:
        SpecError: the first mistake in file order; the message says how many more there are.
    """
    content = document.data if data is None else data
    try:
        return model.model_validate_json(json.dumps(_integral(content)), strict=True)
    except ValidationError as error:
        raise _first(document, model, content, error) from None
    except SpecError as error:
        raise document.error(error.message, error.path or ()) from None


def _integral(data: Any) -> Any:
    """`data` with every whole float as an integer, so that 4, 4.0 and 4e0 are one size; other types stay strict."""
    match data:
        case dict():
            return {key: _integral(value) for key, value in data.items()}
        case list():
            return [_integral(value) for value in data]
        case float() if data.is_integer() and abs(data) < MAX_EXACT_INTEGER:
            return int(data)
        case _:
            return data


def _first(document: Document, model: type[BaseModel], data: Any, error: ValidationError) -> SpecError:
    schema = model.model_json_schema()
    by_path: dict[KeyPath, list[Any]] = {}
    for details in error.errors(include_url=False):
        by_path.setdefault(_path(data, details), []).append(details)
    causes = [
        (group[0]["type"] == "missing", document.error(_message(schema, path, group), path))
        for path, group in by_path.items()
        if not any(other[: len(path)] == path != other for other in by_path)  # a parent fails when its child does
    ]
    causes.sort(key=lambda cause: (cause[0], cause[1].line, cause[1].column))  # what is missing stands nowhere: last
    first, *others = (error for _, error in causes)
    if others:
        first = SpecError(
            f"{first.message} ({len(others)} more {'errors' if len(others) > 1 else 'error'} below.)",
            file=first.file,
            line=first.line,
            column=first.column,
            path=first.path,
        )
    return first


def _path(data: Any, details: Any) -> KeyPath:
    """Path of the key at fault: pydantic's location without the names of union members."""
    path: list[str | int] = []
    for part in details["loc"]:
        if (isinstance(data, dict) and part in data) or (isinstance(data, list) and part in range(len(data))):
            path.append(part)
            data = data[part]
    if details["type"] == "missing":
        path.append(details["loc"][-1])
    for part in str(details.get("ctx", {}).get("path", "")).split("."):
        if part and (not path or path[-1] != part):
            path.append(part)
    return tuple(path)


def _message(schema: Schema, path: KeyPath, group: Sequence[Any]) -> str:
    """What is wrong at `path` and what to do; a union gives one error per member."""
    details = group[0]
    context = details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            return _unknown_key(schema, details["loc"])
        case "missing":
            return f"{_named(path)} is missing; add it."
        case "union_tag_invalid":
            key = f"{context['discriminator']} of {_named(path)}".replace("'", "`")
            return _wrong_value(key, context["tag"], context["expected_tags"])
        case "union_tag_not_found":
            key = context["discriminator"].replace("'", "`")
            return f"{_named(path)} needs the key {key}, got {_shown(details['input'])}; add it."
        case "invalid_combination":
            return str(context["message"])
        case "value_error":
            return str(details["msg"]).removeprefix("Value error, ")
        case _:
            return _wrong_value(_named(path), details["input"], " or ".join(map(_allowed, group)))


def _named(path: KeyPath) -> str:
    """The last key of `path` with the indices after it, in backticks."""
    last = max((place for place, part in enumerate(path) if isinstance(part, str)), default=0)
    return quoted(join_path(path[last:]) or "the spec")


def _allowed(details: Any) -> str:
    context = details.get("ctx", {})
    match details["type"]:
        case "literal_error" | "enum":
            return str(context["expected"])
        case "too_short":
            return f"a list of at least {context['min_length']} items"
        case "too_long":
            return f"a list of at most {context['max_length']} items"
        case "string_too_short":
            least = context["min_length"]
            return f"text of at least {least} character{'s' if least > 1 else ''}"
        case "string_too_long":
            return f"text of at most {context['max_length']} characters"
        case "tuple_type" | "list_type":
            return "a list"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "a mapping of keys"
        case _:
            text = str(details["msg"]).removeprefix("Input should be ").rstrip(".")
            return text.replace("a valid integer", "an integer").replace("a valid ", "a ")


def _wrong_value(key: str, value: Any, allowed: str) -> str:
    choices = re.findall(r"'([^']*)'", allowed)
    close = nearest(value, choices) if isinstance(value, str) else None
    remedy = f"did you mean `{close}`?" if close else "choose one of them." if len(choices) > 1 else "change it."
    return f"{key} must be {allowed}, got {_shown(value)}; {remedy}"


def _unknown_key(schema: Schema, location: Sequence[str | int]) -> str:
    name = str(location[-1])
    known = sorted(_properties(schema, location[:-1]))
    if name.lower() == "true" and "on" in known:
        return f'unknown key {quoted(name)}; tools of YAML 1.1 write `on` so: write the key as `"on"`.'
    close = nearest(name, known)
    remedy = f"did you mean `{close}`?" if close else "remove it."
    listed = f" Keys here: {', '.join(known[:MAX_LISTED])}." if known and not close else ""
    return f"unknown key {quoted(name)}; {remedy}{listed}"


def _shown(value: Any) -> str:
    """`value` as the spec would write it, shortened, in backticks."""
    match value:
        case dict():
            return quoted("{" + ", ".join(map(str, value)) + "}")
        case str() if resolved(value) == value:
            return quoted(value)
        case _:
            return quoted(json.dumps(value))


def _properties(schema: Schema, location: Sequence[str | int]) -> set[str]:
    """Keys that the JSON Schema allows at `location` (which may name union members, as pydantic's do)."""
    nodes = _options(schema, schema)
    for part in location:
        nodes = [
            option for node in nodes for child in _children(node, part) for option in _options(schema, child)
        ] or nodes
    return {name for node in nodes for name in node.get("properties", {})}


def _options(schema: Schema, node: Schema) -> list[Schema]:
    """The node without references and unions: the records it may be."""
    if reference := node.get("$ref"):
        return _options(schema, schema["$defs"][reference.rsplit("/", 1)[-1]])
    members = node.get("oneOf") or node.get("anyOf") or node.get("allOf")
    return [option for member in members for option in _options(schema, member)] if members else [node]


def _children(node: Schema, part: str | int) -> list[Schema]:
    """Schemas of `part` inside `node`; the node itself where `part` names it as a union member."""
    properties = node.get("properties", {})
    if part in properties:
        return [properties[part]]
    if isinstance(part, int):
        items = node.get("prefixItems", [])
        return [items[part]] if part < len(items) else [node["items"]] if "items" in node else []
    tags = {value for field in properties.values() for value in (field.get("const"), *field.get("enum", ()))}
    return [node] if part in tags or part == node.get("title") else []
