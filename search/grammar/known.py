"""The published mixers as plain data, at the sizes of a protocol: what the options of the grammar are read from."""

from contextlib import suppress
from functools import cache
from itertools import chain
from typing import Any

from pydantic import ValidationError

from designspace import catalogue
from designspace.candidate import single
from designspace.events import KeyPath
from designspace.mixer import MixerSpec
from workers.protocol import TINY, ModelSizes, Protocol

OUTSIDE = ("execution", "lint")  # fields of a mixer that are not function
Data = dict[str, Any]


def plain(mixer: MixerSpec) -> Data:
    """The function of a mixer as plain data, every key written out."""
    return mixer.model_dump(mode="json", by_alias=True, exclude=set(OUTSIDE))


def resized(mixer: MixerSpec, sizes: ModelSizes) -> MixerSpec:
    """The mixer with heads of these sizes, as training resizes it; nothing else changes.

    Raises:
        ValidationError: it has no such size.
    """
    sized = _resizing(sizes).adapt(single(mixer), vocab_size=1, seq_len=1).blocks[0].mixers[0]
    return sized.model_copy(update={"execution": mixer.execution, "lint": mixer.lint})


@cache
def _resizing(sizes: ModelSizes) -> Protocol:
    """A protocol that sets these sizes and adds no short convolution."""
    return TINY.model_copy(update={"sizes": sizes.model_copy(update={"short_conv_width": 0})})


@cache
def published(sizes: ModelSizes) -> tuple[Data, ...]:
    """Every mixer of the catalogue that has these sizes, once, as plain data; the default mixer first."""
    located = chain.from_iterable(catalogue.get(name).candidate.mixers() for name in catalogue.names())
    found: list[Data] = []
    for mixer in (MixerSpec(), *(one.mixer for one in located)):
        with suppress(ValidationError):
            data = plain(resized(mixer, sizes))
            if data not in found:
                found.append(data)
    return tuple(found)


def words(data: Any) -> Any:
    """`data` without its numbers: what tells mixers apart that differ in more than a layer's numbers."""
    match data:
        case dict():
            return {key: words(value) for key, value in data.items()}
        case list():
            return [words(value) for value in data]
        case bool() | str() | None:
            return data
        case _:
            return 0


def at(data: Any, path: KeyPath) -> Any:
    """The value at `path` in nested mappings; None where a record on the way is missing."""
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def has(value: Any, fragment: Any) -> bool:
    """`value` is `fragment`, or a mapping with everything that `fragment` has."""
    if isinstance(fragment, dict):
        return isinstance(value, dict) and all(key in value and has(value[key], one) for key, one in fragment.items())
    return bool(value == fragment) and isinstance(value, bool) == isinstance(fragment, bool)
