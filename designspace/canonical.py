"""The canonical form of a candidate and its fingerprint: two specs of one function have one name.

The fingerprint is the SHA-256 of the canonical JSON. It covers the function only: not the name, the target, what
an import left out, suppressed findings, nor execution (form, stabiliser, every number format, the placement of eps). Of
the target it covers seq_len where a mixer reads it (`length_kind: target`), and nothing else.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain, repeat
from typing import Any, get_args, overload

from designspace.candidate import AnyMixer, Block, Candidate, ChannelMixer, ModelSpec, Norm, Parallel, Skip
from designspace.decay import Decay
from designspace.execution import Execution
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.outside import Outside
from designspace.rewritings import amplitude, degenerate, equivalences, parts
from designspace.rewritings.change import changed, rounded, snapped
from designspace.rotation import Rotation
from designspace.spec import Spec, SpecType, replaced
from designspace.suppression import Lint
from designspace.target import Target

# Keys that joined the grammar after fingerprints were stored: left out at their default, so that old names hold.
LATER: dict[type[Spec], tuple[str, ...]] = {
    Decay: ("spacing",),
    Features: ("norm_on", "norm_over"),
    Heads: ("latent_dim", "shared_key_dim"),
    Parallel: ("weights", "learnable_weights", "shared_values", "orders", "row_length"),
    Rotation: ("scaling", "attention_factor", "initial"),
}
# What the parts outside the function take.
EXECUTION, LINT, MODEL, ROTATION, TARGET = Execution(), Lint(), ModelSpec(), Rotation(), Target()
FINGERPRINT_DIGITS = 12  # hexadecimal
CACHED_PARTS = 4096
ENCODERS: dict[type, Callable[[Any], str]] = {  # as `json.dumps` writes them
    str: json.encoder.encode_basestring_ascii,
    int: repr,
    float: repr,
    bool: json.dumps,
    type(None): json.dumps,
}
CACHE = 1024  # canonical mixers: the layers of a stack, and the candidates of a search, repeat most of them
PLAIN = frozenset({str, int, bool, type(None)})  # what holds no number that a form rounds
MAX_PASSES = 32  # a chain of rewritings is a few passes long
REWRITINGS: tuple[Callable[[MixerSpec], MixerSpec], ...] = (
    *parts.REWRITINGS,
    *degenerate.REWRITINGS,
    *amplitude.REWRITINGS,
    *equivalences.REWRITINGS,
)


@overload
def canonical(spec: MixerSpec) -> MixerSpec: ...
@overload
def canonical(spec: Candidate) -> Candidate: ...
def canonical(spec: MixerSpec | Candidate) -> MixerSpec | Candidate:
    """The same function in normal form, numbers to 12 significant digits; canonical forms stay as they are.

    What stands outside the function (name, target, approximated, lint, execution) is kept where it is.
    """
    match spec:
        case MixerSpec():
            return _mixer(spec)
        case Candidate():
            return replaced(spec, {"blocks": _stack(tuple(map(_block, spec.blocks)))})


def canonical_json(spec: MixerSpec | Candidate) -> str:
    """The canonical form of the function as JSON: every key written out and sorted, none that is not function."""
    return _json(canonical(function(spec)))


def fingerprint(candidate: Candidate) -> str:
    """The identity of a candidate: 12 hexadecimal digits."""
    return _digest(canonical_json(candidate))


def mixer_fingerprint(mixer: MixerSpec) -> str:
    """The identity of a mixer on its own: 12 hexadecimal digits."""
    return _digest(canonical_json(mixer))


@overload
def function(spec: MixerSpec) -> MixerSpec: ...
@overload
def function(spec: Candidate) -> Candidate: ...
def function(spec: MixerSpec | Candidate) -> MixerSpec | Candidate:
    """The spec with everything at its default that a fingerprint does not cover."""
    match spec:
        case MixerSpec():
            return _mixer_function(spec)
        case Candidate():
            model = replaced(spec.model, {"residual_dtype": MODEL.residual_dtype})
            blocks = tuple(map(_block_function, spec.blocks))
            outside = {"name": "unnamed", "target": _target_function(spec), "approximated": (), "lint": LINT}
            return replaced(spec, {"model": model, "blocks": blocks, **outside})


def _target_function(candidate: Candidate) -> Target:
    """The default target, with the length of the candidate's own where a mixer reads it."""
    return Target(seq_len=candidate.target.seq_len) if _reads_target_length(candidate) else TARGET


def _reads_target_length(candidate: Candidate) -> bool:
    return any(mixer.reads_target_length for block in candidate.blocks for mixer in block.mixers)


def _mixer_function(mixer: MixerSpec) -> MixerSpec:
    mixer = changed(mixer, "rotation", phase_dtype=ROTATION.phase_dtype)
    mixer = changed(changed(mixer, "normalization", eps_inside=None), "features", eps_kind="sum")
    if mixer.execution == EXECUTION and not mixer.lint.ignore:
        return mixer
    return replaced(mixer, {"execution": EXECUTION, "lint": LINT})


def _block_function(block: Block) -> Block:
    match block.mixer:
        case None | Outside():
            inner: AnyMixer | None = block.mixer
        case Parallel(parallel=mixers):
            inner = replaced(block.mixer, {"parallel": tuple(map(_mixer_function, mixers))})
        case mixer:
            inner = _mixer_function(mixer)
    return replaced(block, {"mixer": inner, "lint": LINT})


def _json(form: Spec) -> str:
    members = _members(form)
    if isinstance(form, Candidate) and _reads_target_length(form):
        members = sorted([*members, f'"target":{{"seq_len":{form.target.seq_len}}}'])
    return _object(members)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_DIGITS]


@lru_cache(CACHE)
def _mixer(mixer: MixerSpec) -> MixerSpec:
    """Every rewriting, again and again until none applies; numbers are rounded last, so that folding loses none."""
    mixer, untouched = _numbers(mixer, snapped), 0
    for rewriting in chain.from_iterable(repeat(REWRITINGS, MAX_PASSES)):
        before, mixer = mixer, rewriting(mixer)
        untouched = untouched + 1 if mixer is before else 0
        if untouched == len(REWRITINGS):
            return _numbers(mixer, rounded)
    raise RuntimeError(f"the rewritings of a mixer did not end after {MAX_PASSES} passes; report the spec {mixer}.")


def _block(block: Block) -> Block:
    """A block with canonical mixers; what a missing part would have used takes its default."""
    sizes = {"skip": _numbers(block.skip, rounded), "channel_mixer": _numbers(block.channel_mixer, rounded)}
    block = replaced(block, sizes)
    update: dict[str, Any] = {}
    match block.mixer:
        case None:
            update["skip"] = Skip()  # the path around a mixer that is not there
        case Parallel():
            update["mixer"] = _parallel(block.mixer)
        case Outside():
            pass
        case mixer:
            update["mixer"] = _mixer(mixer)
    if block.channel_mixer.kind == "none":
        update["channel_mixer"] = ChannelMixer(kind="none")
        if block.mixer is None:
            update["norm"] = Norm()
    if block.norm.kind == "none":
        update["norm"] = Norm(kind="none")
    return replaced(block, update)


def _parallel(parallel: Parallel) -> Parallel:
    """Branches with their weights and orders in a fixed sequence where they are added up; `concat` keeps theirs.

    With shared values the first branch is the one whose values and output stage count, and stays first.
    """
    count = len(parallel.parallel)
    weights = tuple(rounded(weight) for weight in parallel.weights or (1.0,) * count)
    orders = parallel.orders or ("forward",) * count
    kept = 1 if parallel.shared_values else 0
    if parallel.shared_values:
        first, *others = (_mixer(_without_stage(mixer)) for mixer in parallel.parallel)
        stage = _mixer(parallel.parallel[0]).io
        branches = (replaced(first, {"io": stage}), *map(_without_values, others))
    else:
        branches = tuple(map(_mixer, parallel.parallel))
    rows = list(zip(branches, weights, orders, strict=True))
    if parallel.merge != "concat":
        rows[kept:] = sorted(rows[kept:], key=lambda row: (_json(row[0]), row[1:]))
    plain = set(weights) == {1.0} and not parallel.learnable_weights
    return parallel.model_copy(
        update={
            "parallel": tuple(row[0] for row in rows),
            "weights": None if plain else tuple(row[1] for row in rows),
            "orders": None if set(orders) == {"forward"} else tuple(row[2] for row in rows),
        }
    )


def _without_stage(mixer: MixerSpec) -> MixerSpec:
    """A branch that is added to others before anything happens to the outputs: a norm divides the sum, not its row."""
    return replaced(mixer, {"io": InputOutput(short_conv=mixer.io.short_conv)})


def _without_values(mixer: MixerSpec) -> MixerSpec:
    """A branch whose values another branch gives: it has none that a short convolution could act on."""
    conv = mixer.io.short_conv
    on = tuple(name for name in conv.on if name != "v")
    own = ShortConv(width=conv.width, on=on) if on else ShortConv()
    return mixer if own == conv else changed(mixer, "io", short_conv=own)


def _stack(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Without blocks that do nothing; equal neighbours are one block with the sum of their repeats."""
    merged: list[Block] = []
    for block in [block for block in blocks if not _is_empty(block)] or [blocks[0].model_copy(update={"repeat": 1})]:
        last = merged[-1] if merged else None
        if last is not None and replaced(last, {"repeat": block.repeat}) == block:
            merged[-1] = replaced(last, {"repeat": last.repeat + block.repeat})
        else:
            merged.append(block)
    return tuple(merged)


def _is_empty(block: Block) -> bool:
    return block.mixer is None and block.channel_mixer.kind == "none"


def _numbers(spec: SpecType, form: Callable[[float], float]) -> SpecType:
    """The spec with `form` of every number; the same object if that changes nothing."""
    update = {}
    values = vars(spec)
    for name, default in _holding_numbers(type(spec)):
        old = values[name]
        if old is not default:
            new = _value(old, form)
            if new is not old:
                update[name] = new
    return replaced(spec, update) if update else spec


def _value(value: Any, form: Callable[[float], float]) -> Any:
    """The value with `form` of every number; the same object if that changes nothing."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is float:
        new: Any = form(value)
    elif kind is tuple:
        new = tuple([_value(item, form) for item in value])
    else:
        return _numbers(value, form) if Spec in kind.__mro__ else value  # isinstance of a pydantic record is slow
    return value if new == value else new


@cache
def _holding_numbers(kind: type[Spec]) -> tuple[tuple[str, Any], ...]:
    """Name and default of the fields of a record that can hold a number; a default is in every form already."""
    return tuple((name, field.default) for name, field in kind.model_fields.items() if _holds_number(field.annotation))


def _holds_number(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return annotation is float or issubclass(annotation, Spec)
    return any(map(_holds_number, get_args(annotation)))


PARTS = frozenset(MixerSpec.model_fields)
OUTSIDE = {
    "approximated",
    "eps_inside",
    "eps_kind",
    "execution",
    "lint",
    "name",
    "phase_dtype",
    "residual_dtype",
    "target",
}


def _text(value: Any) -> str:
    """A value of a spec as JSON, without the keys that are not function and without later keys at their default."""
    kind = type(value)
    encode = ENCODERS.get(kind)
    if encode is not None:
        return encode(value)
    return f"[{','.join(map(_text, value))}]" if kind is tuple else _object(_members(value))


def _members(record: Spec) -> list[str]:
    """`"key":value` of what a record holds, by key."""
    members, values = [], vars(record)
    for name, key, is_later, default in _keys(type(record)):
        item = values[name]
        if not is_later or item != default:
            members.append(f"{key}:{_part_text(item) if name in PARTS else _text(item)}")
    return members


@lru_cache(CACHED_PARTS)
def _part_text(part: Spec) -> str:
    """A part of a mixer: few are new."""
    return _text(part)


def _object(members: Sequence[str]) -> str:
    return f"{{{','.join(members)}}}"


@cache
def _keys(kind: type[Spec]) -> tuple[tuple[str, str, bool, Any], ...]:
    """Name, key in a file (quoted), whether it is left out at its default, and default, of every field that is
    function, by key.
    """
    later = LATER.get(kind, ())
    found = (
        (name, json.dumps(field.alias or name), name in later, field.default)
        for name, field in kind.model_fields.items()
        if name not in OUTSIDE
    )
    return tuple(sorted(found, key=lambda one: one[1]))
