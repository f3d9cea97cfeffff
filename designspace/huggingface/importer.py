"""From a config.json to a candidate. Source of the facts per model_type: the model code of transformers 5.24."""

import difflib
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from pydantic import ValidationError

from designspace import units
from designspace.candidate import Approximation, Block, Candidate, ModelSpec
from designspace.document import Document
from designspace.errors import SpecError
from designspace.huggingface.config import Account, Config
from designspace.huggingface.ignored import IGNORED, bears_on_tuple, reason_of_emptiness
from designspace.spec import Spec
from designspace.target import MAX_SEQ_LEN, Target

PACKAGE = "designspace.huggingface.model_types"
TEXT_PARTS = ("text_config", "llm_config", "language_config")  # of models that also see or hear
CLASS_ENDING = re.compile(r"(?:For[A-Z]\w*|LMHeadModel|LMHead|Model)$")  # of the name of a model class
REMEDY = "write a spec for this model, or remove the key if it has no effect."


@dataclass(frozen=True)
class Stack:
    """What a model_type says: one block per layer, and what surrounds them."""

    layers: list[Block]
    model: ModelSpec
    seq_len: int


@dataclass(frozen=True)
class Importer:
    """A model_type: how its file becomes a stack, and the keys it may hold that do not bear on the tuple.

    `source` names where the class defaults and the facts that no key holds come from.
    """

    stack: Callable[[Config], Stack]
    ignores: Mapping[str, str]
    source: str = "transformers 5.24"


class Imported(Spec):
    """A candidate with the account of every key of the file; names of nested keys have dots.

    `read`: key -> value used; `defaulted`: absent key -> value and its source; `derived`: name -> how a value that the
    file does not state was found; `ignored`: key -> why it does not bear on the tuple; `approximated`: key -> what the
    candidate leaves out of it; `unknown`: keys nobody understands, none of which looks as if it bore on the tuple.
    """

    candidate: Candidate
    model_type: str
    read: dict[str, Any]
    defaulted: dict[str, str]
    derived: dict[str, str]
    ignored: dict[str, str]
    approximated: dict[str, str]
    unknown: tuple[str, ...]

    @property
    def verdict(self) -> Literal["ok", "unsupported", "not_applicable"]:
        """Whether every layer lies in the grammar; `not_applicable` where the model has no causal mixer."""
        kinds = {outside.outside for _, outside in self.candidate.outside()}
        if "bidirectional" in kinds:
            return "not_applicable"
        return "unsupported" if kinds else "ok"


def import_config(document: Document, *, name: str | None = None) -> Imported:
    """The candidate of a config.json, read with `special_numbers=True` (such files may hold a bare Infinity).

    Args:
        name: of the candidate; the model_type by default.

    Raises:
        SpecError: the model_type is not supported, a key has no sensible value, or a key that bears on the tuple is
            not understood.
    """
    account = Account()
    outer = Config(document, document.data, path=(), account=account)
    model_type, config, around = _text_part(outer)
    importer = _importer(config, model_type)
    config.source = importer.source
    try:
        stack = importer.stack(config)
        candidate = Candidate(
            name=name or model_type,
            target=Target(seq_len=min(stack.seq_len, MAX_SEQ_LEN), dtype=config.dtype(), provenance="checkpoint"),
            model=stack.model,
            blocks=_merge(stack.layers),
            approximated=tuple(Approximation(key=key, reason=why) for key, why in account.approximated.items()),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise config.error("model_type", f"the file describes a model outside the grammar: {first['msg']}") from error
    left = {**around, **dict(config.unread())}
    known = {**IGNORED, **importer.ignores, **dict.fromkeys(around, "of the model around the text part")}
    reasons = {
        key: known.get(key, known.get(key.rpartition(".")[2])) or reason_of_emptiness(key, value)
        for key, value in left.items()
    }
    unknown = tuple(key for key, reason in reasons.items() if reason is None)
    for key in unknown:
        if bears_on_tuple(key, left[key]):
            raise outer.error(key, f"`{key}: {left[key]!r}` bears on the mixer and is not understood; {REMEDY}")
    return Imported(
        candidate=candidate,
        model_type=model_type,
        read={key: _plain(value) for key, value in account.read.items()},
        defaulted=account.defaulted,
        derived=account.derived,
        ignored={key: reason for key, reason in reasons.items() if reason is not None},
        approximated=account.approximated,
        unknown=unknown,
    )


def _text_part(outer: Config) -> tuple[str, Config, dict[str, Any]]:
    """The model_type, the object that holds the decoder, and the keys around it.

    A file without a model_type that has the keys of state-spaces/mamba is one of theirs.
    """
    if outer.has("model_type"):
        given = outer.text("model_type", default="")
    else:
        outer.optional("model_type")
        given = "mamba_ssm" if "ssm_cfg" in outer.data else ""
        outer.note("model_type", "mamba_ssm: a file with `ssm_cfg` and no model_type is one of state-spaces/mamba")
    inner = next((key for key in TEXT_PARTS if isinstance(outer.data.get(key), dict)), None)
    if inner is None or given in model_types():
        return given, outer, {}
    config = outer.nested(inner)
    around = {key: value for key, value in outer.data.items() if key not in ("model_type", inner)}
    outer.note("model_type", f"`{given}` holds its decoder in `{inner}`; the parts around it are not imported")
    if not (config.has("dtype") or config.has("torch_dtype")):
        config.data = {**config.data, **{key: around[key] for key in ("dtype", "torch_dtype") if key in around}}
    if config.has("model_type"):
        return config.text("model_type", default=""), config, around
    own = next((name for name in (f"{given}_text", f"{given}_text_model") if name in model_types()), "")
    if own:
        outer.note(f"{inner}.model_type", f"{own}: the decoder that {given} has where its file names none")
    return own, config, around


def model_types() -> tuple[str, ...]:
    """Names of the model_types that can be imported, in lower case and with `_` for `-`."""
    return units.names(PACKAGE)


def described() -> dict[str, str]:
    """Every model_type with what the docstring of its file says first."""
    return {name: _first_words(name) for name in model_types()}


def _first_words(name: str) -> str:
    text = importlib.import_module(f"{PACKAGE}.{name}").__doc__ or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return first.removeprefix(f"{name}: ").partition(" Source: ")[0].removesuffix(".")


def _importer(config: Config, model_type: str) -> Importer:
    if (unit := model_type.replace("-", "_").lower()) in model_types():
        return units.load_unit(PACKAGE, unit, "importer", Importer)
    given = f"`model_type` {model_type!r} cannot be imported" if model_type else "the file names no `model_type`"
    raise config.error(
        "model_type",
        f"{given}; {_likely(config, model_type)} (`sextant import --types` lists all {len(model_types())})."
        " Write a spec instead: `sextant new --from catalogue:NAME`.",
    )


def _likely(config: Config, model_type: str) -> str:
    """Which model_type was meant: that of the class in `architectures`, else the ones with the nearest names."""
    classes = config.data.get("architectures")
    for name in classes if isinstance(classes, list) else ():
        stem = CLASS_ENDING.sub("", name).lower() if isinstance(name, str) else ""
        if (found := next((known for known in model_types() if known.replace("_", "") == stem), None)) is not None:
            return f"`architectures` says {name}, which is `model_type: {found}`"
    near = difflib.get_close_matches(model_type.lower(), model_types(), n=3, cutoff=0.0) if model_type else ()
    return f"nearest: {', '.join(near)}" if near else "add it, for example `model_type: llama`"


def _merge(layers: list[Block]) -> tuple[Block, ...]:
    """Equal neighbours become one block with `repeat`."""
    runs = [(block, len(list(group))) for block, group in groupby(layers)]
    return tuple(block.model_copy(update={"repeat": count}) for block, count in runs)


def _plain(value: Any) -> Any:
    """JSON has no infinity: such values are reported as text."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, float) and abs(value) == float("inf") else value


def unsupported(config: Config, key: str, value: object) -> SpecError:
    """The error for a value whose meaning the grammar does not hold."""
    return config.error(
        key, f"`{key}: {value!r}` is not supported by the importer; write a spec for this model instead."
    )
