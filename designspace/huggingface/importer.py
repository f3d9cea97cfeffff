"""From a config.json to a candidate. Source of the facts per model_type: the model code of transformers 5.24."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pydantic import ValidationError

from designspace import units
from designspace.candidate import Block, Candidate, ModelSpec
from designspace.document import Document
from designspace.errors import SpecError
from designspace.huggingface.config import Config
from designspace.huggingface.ignored import IGNORED
from designspace.spec import Spec
from designspace.target import MAX_SEQ_LEN, Target

PACKAGE = "designspace.huggingface.model_types"


@dataclass(frozen=True)
class Stack:
    """What a model_type says: one block per layer, and what surrounds them."""

    layers: list[Block]
    model: ModelSpec
    seq_len: int


@dataclass(frozen=True)
class Importer:
    """A model_type: how its file becomes a stack, and the keys it may hold that do not bear on the tuple."""

    stack: Callable[[Config], Stack]
    ignores: Mapping[str, str]


class Imported(Spec):
    """A candidate with the account of every key of the file.

    `read`: key -> value used; `derived`: name -> how a value that the file does not state was found; `ignored`: key ->
    why it does not bear on the tuple; `approximated`: key -> what the candidate leaves out of it; `unknown`: keys
    nobody understands, which a user must look at.
    """

    candidate: Candidate
    model_type: str
    read: dict[str, Any]
    derived: dict[str, str]
    ignored: dict[str, str]
    approximated: dict[str, str]
    unknown: tuple[str, ...]


def import_config(document: Document, *, name: str | None = None) -> Imported:
    """The candidate of a config.json, read with `special_numbers=True` (such files may hold a bare Infinity).

    Args:
        name: of the candidate; the model_type by default.

    Raises:
        SpecError: the model_type is not supported, or a key has no sensible value.
    """
    config = Config(document)
    model_type = config.text("model_type", default="")
    importer = _importer(config, model_type)
    try:
        stack = importer.stack(config)
        candidate = Candidate(
            name=name or model_type,
            target=Target(seq_len=min(stack.seq_len, MAX_SEQ_LEN), dtype=config.dtype(), provenance="checkpoint"),
            model=stack.model,
            blocks=_merge(stack.layers),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise config.error("model_type", f"the file describes a model outside the grammar: {first['msg']}") from error
    left = [key for key in document.data if key not in config.read]
    known = {**IGNORED, **importer.ignores}
    return Imported(
        candidate=candidate,
        model_type=model_type,
        read={key: _plain(value) for key, value in config.read.items()},
        derived=config.derived,
        ignored={key: known[key] for key in left if key in known},
        approximated=config.approximated,
        unknown=tuple(key for key in left if key not in known),
    )


def model_types() -> tuple[str, ...]:
    """Names of the model_types that can be imported."""
    return units.names(PACKAGE)


def _importer(config: Config, model_type: str) -> Importer:
    if model_type in model_types():
        return units.load_unit(PACKAGE, model_type, "importer", Importer)
    near = difflib.get_close_matches(model_type, model_types(), n=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise config.error(
        "model_type",
        f"`model_type` {model_type!r} cannot be imported{hint}; known: {', '.join(model_types())}."
        " Write a spec instead.",
    )


def _merge(layers: list[Block]) -> tuple[Block, ...]:
    """Equal neighbours become one block with `repeat`."""
    runs = [(block, len(list(group))) for block, group in groupby(layers)]
    return tuple(block.model_copy(update={"repeat": count}) for block, count in runs)


def _plain(value: Any) -> Any:
    """JSON has no infinity: such values are reported as text."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and abs(value) == float("inf") else value


def unsupported(config: Config, key: str, value: object) -> SpecError:
    """The error for a value whose meaning the grammar does not hold."""
    return config.error(
        key, f"`{key}: {value!r}` is not supported by the importer; write a spec for this model instead."
    )
