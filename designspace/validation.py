"""Validates a document against a pydantic model; every error becomes a `SpecError` with its line and a remedy."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from designspace.document import Document
from designspace.errors import SpecError
from designspace.events import KeyPath, nearest, quoted

Model = TypeVar("Model", bound=BaseModel)
Schema = Mapping[str, Any]
MAX_LISTED = 12  # keys or values named in one message


def validate(document: Document, model: type[Model], data: Any = None) -> Model:
    """`data` (the document's own by default) as a `model`.

    Raises:
        SpecError: the first mistake in file order; the message says how many more there are.
    """
    content = document.data if data is None else data
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise _first(document, model, content, error) from None
    except SpecError as error:
        raise document.error(error.message, error.path or ()) from None


def _first(document: Document, model: type[BaseModel], data: Any, error: ValidationError) -> SpecError:
    schema = model.model_json_schema()
    found: dict[KeyPath, SpecError] = {}
    for details in error.errors(include_url=False):
        path = _path(data, details)
        found.setdefault(path, document.error(_message(schema, data, path, details), path))
    first, *others = sorted(found.values(), key=lambda one: (one.line or 0, one.column or 0))
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
    location: Sequence[str | int] = details["loc"]
    for position, part in enumerate(location):
        if (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        ):
            path.append(part)
            data = data[part]
        elif position == len(location) - 1 and details["type"] == "missing":
            path.append(part)
    for part in str(details.get("ctx", {}).get("path", "")).split("."):
        if part and (not path or path[-1] != part):
            path.append(part)
    return tuple(path)


def _message(schema: Schema, data: Any, path: KeyPath, details: Any) -> str:
    key = quoted(path[-1] if path and isinstance(path[-1], str) else ".".join(map(str, path)) or "the spec")
    got = quoted(_shown(details["input"]))
    context = details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            return _unknown_key(schema, details["loc"])
        case "missing":
            return f"{key} is missing; add it."
        case "literal_error" | "enum":
            return _unknown_value(key, got, str(details["input"]), context["expected"])
        case "union_tag_invalid":
            return _unknown_value(
                f"`{context['discriminator'].strip(chr(39))}` of {key}",
                quoted(context["tag"]),
                context["tag"],
                context["expected_tags"],
            )
        case "union_tag_not_found":
            return f"{key} needs the key `{context['discriminator'].strip(chr(39))}`, got {got}; add it."
        case "invalid_combination":
            return str(context["message"])
        case "value_error":
            return details["msg"].removeprefix("Value error, ")
        case _:
            allowed = details["msg"].removeprefix("Input should be ").rstrip(".")
            return f"{key} must be {allowed}, got {got}; change it."


def _unknown_key(schema: Schema, location: Sequence[str | int]) -> str:
    name = str(location[-1])
    known = sorted(_properties(schema, location[:-1]))
    close = nearest(name, known)
    remedy = f"did you mean `{close}`?" if close else "remove it."
    listed = f" Keys here: {', '.join(known[:MAX_LISTED])}." if known and not close else ""
    return f"unknown key {quoted(name)}; {remedy}{listed}"


def _unknown_value(key: str, got: str, text: str, expected: str) -> str:
    close = nearest(text, [one.strip(" '") for one in expected.replace(" or ", ",").split(",")])
    return f"{key} must be {expected}, got {got}; {f'did you mean `{close}`?' if close else 'choose one of them.'}"


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(map(str, value)) + "}"
        case list() | tuple():
            return "[" + ", ".join(_shown(item) for item in value) + "]"
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


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
