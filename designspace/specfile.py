"""Spec files: loads a candidate from YAML, JSON, a catalogue name or a config.json, and writes one back."""

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel

from designspace import catalogue
from designspace.candidate import MAX_LAYERS, MAX_NAME, Candidate
from designspace.document import Document, Entry, Node, parse, read
from designspace.errors import SpecError
from designspace.events import KeyPath, quoted
from designspace.validation import validate
from designspace.yamltext import BOOLEAN, INTEGER, NULL, NUMBER, resolved

if TYPE_CHECKING:
    from designspace.huggingface import Imported

CATALOGUE_PREFIX = "catalogue:"
STANDARD_INPUT = "<stdin>"  # what `document.read` calls it
SPEC_KEYS = {"sextant", "blocks", "mixer"}
BLOCKS = "blocks"
SPACE_KEY = "tasks"
RANGE_KEYS = frozenset({"range", "log", "int"})  # of a hole for a number
CONFIG_KEYS = {"model_type", "architectures", "ssm_cfg"}
LINE_WIDTH = 120
FLOW_LEVELS = 2
FLOW_CHARACTERS = 80
CORE = "tag:yaml.org,2002:"
MERGE_KEYS = {"<<", "="}


@dataclass(frozen=True)
class Loaded:
    """A candidate with the document that says where each of its keys stands.

    `unread` are the keys of a config.json that the importer does not know.
    """

    candidate: Candidate
    document: Document
    unread: tuple[str, ...] = ()


def load(source: str | os.PathLike[str]) -> Candidate:
    """The candidate in `source`: a spec file, a Hugging Face config.json, `catalogue:NAME`, or `-` for standard input.

    Raises:
        SpecError: it cannot be read, or is not a valid spec.
    """
    return load_with_places(source).candidate


def load_with_places(source: str | os.PathLike[str]) -> Loaded:
    """Like `load`, with the line and column of every key."""
    name = str(source)
    if name.startswith(CATALOGUE_PREFIX):
        candidate = catalogue.get(name.removeprefix(CATALOGUE_PREFIX)).candidate
        return Loaded(candidate, parse(dump(candidate), name))
    return load_read(read(source, special_numbers=True))


def load_read(document: Document) -> Loaded:
    """The candidate that a file or standard input holds, a spec or a config.json.

    Args:
        document: read with `special_numbers`, which only a config.json may hold.
    """
    if (document.file.endswith(".json") or document.file == STANDARD_INPUT) and is_config(document):
        return load_config(document)
    if document.special_number:
        raise document.special_number
    return load_document(document)


def loads(text: str, file: str = "<text>") -> Candidate:
    """The candidate in `text`, YAML or JSON."""
    return load_document(parse(text, file)).candidate


def load_document(document: Document) -> Loaded:
    """The candidate that `document` holds, with `use` expanded."""
    if "mixer" in document.data and "blocks" not in document.data:
        document = _one_layer(document)
    _refuse_tall(document)
    try:
        data = expanded(document)
        if document.file[:1] != "<":
            data.setdefault("name", Path(document.file).stem[:MAX_NAME])
        return Loaded(validate(document, Candidate, data), document)
    except SpecError:
        _refuse_space(document)
        raise


def _refuse_tall(document: Document) -> None:
    """Raise on more blocks or branches than a stack may have, before any is made: a few aliases write many."""
    for path, items in _stacked(document.data):
        if isinstance(items, list) and len(items) > MAX_LAYERS:
            remedy = "write equal layers once, with `repeat`." if path == (BLOCKS,) else "remove some."
            raise document.error(f"`{path[-1]}` has {len(items):,} items, more than {MAX_LAYERS}; {remedy}", path)


def _stacked(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    """The lists of blocks and of branches with their paths."""
    blocks = data.get(BLOCKS)
    yield (BLOCKS,), blocks
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        mixer = block.get("mixer") if isinstance(block, dict) else None
        if isinstance(mixer, dict):
            yield (BLOCKS, index, "mixer", "parallel"), mixer.get("parallel")


def _refuse_space(document: Document) -> None:
    """Raise if the document is no spec because it is a space file, which has `tasks` or holes."""
    path: KeyPath | None = (SPACE_KEY,) if SPACE_KEY in document.data else _hole(document.data, ())
    if path is not None:
        message = f"`{path[-1]}` makes this a space file; search it with `sextant search run`, or lint a spec."
        raise document.error(message, path)


def _hole(data: Any, path: KeyPath) -> KeyPath | None:
    """Path of the first `choice`, `grammar` or `range` that leaves a value open; `decay.range` is a field."""
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(data, list):
        items = enumerate(data)
    elif isinstance(data, dict):
        items = data.items()
        for key in ("choice", "grammar"):
            if key in data:
                return (*path, key)
        if "range" in data and data.keys() <= RANGE_KEYS and path[-1:] != ("decay",):
            return (*path, "range")
    found = (_hole(value, (*path, key)) for key, value in items)
    return next((hole for hole in found if hole is not None), None)


def load_config(document: Document) -> Loaded:
    """The candidate of a Hugging Face config.json."""
    from designspace.huggingface.places import placed  # imported with the importer, see `imported`

    found = imported(document)
    return Loaded(found.candidate, placed(document, found), found.unknown)


def is_spec(document: Document) -> bool:
    """The document is a spec; a space file, which has `tasks`, is not."""
    keys = document.data.keys()
    return bool(SPEC_KEYS & keys) and SPACE_KEY not in keys


def is_config(document: Document) -> bool:
    """The document is a Hugging Face config.json, not a spec."""
    keys = document.data.keys()
    return not SPEC_KEYS & keys and bool(CONFIG_KEYS & keys)


def imported(document: Document) -> "Imported":
    """The candidate of a Hugging Face config.json, with the account of its keys.

    Raises:
        SpecError: the model_type is not supported, or a key has no sensible value.
    """
    from designspace.huggingface import import_config  # a third of the start-up, and most specs are no config.json

    return import_config(document, name=Path(document.file).stem[:MAX_NAME])


def expanded(document: Document) -> dict[str, Any]:
    """The data of `document` with every `mixer: {use: NAME, ...overrides}` written out."""
    data: dict[str, Any] = document.data
    for path, holder, key in _mixer_places(data):
        mixer = holder[key]
        if isinstance(mixer, dict) and "use" in mixer:
            overrides = {name: value for name, value in mixer.items() if name != "use"}
            holder[key] = merged(_used(document, (*path, "use"), mixer["use"]), overrides)
    return data


def merged(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `overrides` laid over it, mapping by mapping; a new `kind` replaces the whole record."""
    result = dict(base)
    for key, value in overrides.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and value.get("kind", old.get("kind")) == old.get("kind"):
            value = merged(old, value)
        result[key] = value
    return result


def dump(candidate: Candidate) -> str:
    """YAML that loads back to the same candidate; keys at their default are left out."""
    return to_yaml(record(candidate))


def to_yaml(data: Any) -> str:
    """`data` as YAML 1.2 text that `parse` reads back; innermost collections in one line."""
    node = _Dumper(io.StringIO(), sort_keys=False).represent_data(data)
    _lay_out(node)
    return yaml.serialize(node, Dumper=_Dumper, allow_unicode=True, width=LINE_WIDTH)


def _lay_out(node: yaml.Node) -> tuple[int, int]:
    """Put short collections of at most two levels in one line each; returns levels and characters of `node`."""
    match node:
        case yaml.MappingNode():
            parts = [part for pair in node.value for part in pair]
        case yaml.SequenceNode():
            parts = node.value
        case _:
            return 0, len(str(node.value))
    sizes = [_lay_out(part) for part in parts]
    levels = 1 + max((level for level, _ in sizes), default=0)
    characters = sum(length + len(", ") for _, length in sizes) + len("{}")
    node.flow_style = levels <= FLOW_LEVELS and characters <= FLOW_CHARACTERS
    return levels, characters


def record(value: Any) -> Any:
    """`value` as plain data, without the keys at their default.

    A `kind` always stays, and so does a number format that was declared: rules about formats judge declared ones only.
    """
    match value:
        case BaseModel():
            fields = type(value).model_fields
            return {
                field.alias or name: record(getattr(value, name))
                for name, field in fields.items()
                if name == "kind"
                or getattr(value, name) != field.get_default(call_default_factory=True)
                or _declares_format(value, name)
            }
        case tuple() | list():
            return [record(item) for item in value]
        case dict():
            return {key: record(item) for key, item in value.items()}
        case Enum():
            return value.value
        case float() if isinf(value):
            return None
        case _:
            return value


def _declares_format(owner: BaseModel, name: str) -> bool:
    """The field is a number format, or holds one, that was written down at its default."""
    value = getattr(owner, name)
    if name.endswith("dtype"):
        return name in owner.model_fields_set
    return isinstance(value, BaseModel) and any(_declares_format(value, inner) for inner in type(value).model_fields)


def _one_layer(document: Document) -> Document:
    """A document that holds `mixer:`, as one with `blocks: [{mixer: ...}]` whose keys stand where they stood."""
    entries = dict(document.root.content) if isinstance(document.root.content, dict) else {}
    mixer = entries.pop("mixer")
    block = Node({"mixer": mixer}, mixer.start, mixer.end)
    entries["blocks"] = Entry(mixer.start, mixer.end, Node([block], mixer.start, mixer.end))
    return Document(document.file, document.root._replace(content=entries))


def _mixer_places(data: Any) -> Iterator[tuple[KeyPath, Any, Any]]:
    """(path, container, key) of every mixer, those in `parallel` and `nearest` included; wrong types are left to
    validation.
    """
    blocks = data.get("blocks")
    for index, block in enumerate(blocks if isinstance(blocks, list) else []):
        if not isinstance(block, dict) or "mixer" not in block:
            continue
        path: KeyPath = ("blocks", index, "mixer")
        yield path, block, "mixer"
        mixer = block["mixer"]
        branches = mixer.get("parallel") if isinstance(mixer, dict) else None
        for branch in range(len(branches) if isinstance(branches, list) else 0):
            yield (*path, "parallel", branch), branches, branch
        if isinstance(mixer, dict) and "nearest" in mixer:
            yield (*path, "nearest"), mixer, "nearest"


def _used(document: Document, path: KeyPath, name: Any) -> dict[str, Any]:
    if not isinstance(name, str):
        raise document.error(f"`use` must be the name of a catalogue entry, got {quoted(name)}.", path)
    try:
        found = catalogue.get(name).candidate.blocks[0].mixer
        return {} if found is None else found.model_dump(mode="json", by_alias=True)
    except SpecError as error:
        raise document.error(f"`use`: {error.message}", path) from None


class _Dumper(yaml.SafeDumper):
    """Writes by the YAML 1.2 core schema: only text that would be read as something else is quoted."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Write equal values out; specs have no aliases."""
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if resolved(text) == text and text not in MERGE_KEYS else '"'
    return dumper.represent_scalar(f"{CORE}str", text, style=style)


_Dumper.yaml_implicit_resolvers = {}
for _name, _pattern in {"int": INTEGER, "float": NUMBER, "bool": BOOLEAN, "null": NULL}.items():
    _Dumper.add_implicit_resolver(f"{CORE}{_name}", re.compile(f"^(?:{_pattern.pattern})$"), None)
_Dumper.add_representer(str, _string)
