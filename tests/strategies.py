"""Random valid mixers and candidates that cover the whole grammar: one sampler for seeded loops and for hypothesis.

Every field is drawn on its own, with the options that the fields drawn before it leave open; the validators of the
spec have the last word. Options stand in order of simplicity, so that hypothesis shrinks towards the defaults.

A key that is not drawn here takes the options that the full grammar reads off the models (`search.grammar`), so new
keys of the grammar are tested at once. The grammar's own filling is no sampler for these tests: it keeps the sizes of a
protocol, and leaves keys without a meaning at their default, while fingerprints have to see through them.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, TypeVar, get_args

from hypothesis import strategies as st
from pydantic import ValidationError

from designspace.candidate import Candidate
from designspace.decay import DecayMap
from designspace.features import Features, MapName
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation
from designspace.scaling import Gate
from designspace.spec import Dtype
from designspace.target import Need
from search.grammar.holes import GrammarHole, grammar_holes
from workers.protocol import TINY

Fields = dict[str, Any]
Option = TypeVar("Option")

MAX_ATTEMPTS = 5_000
KEEP = 0.55  # probability that a part keeps its first, simplest option
DTYPES = get_args(Dtype)
SIMPLE_NUMBERS = (1, 2, 4, 3)  # for keys that are not drawn here
LINEAR_ONLY = ("taylor2", "favor", "rff", "dpfp")  # feature maps that expand the score themselves


def random_mixer(
    seed_or_rng: int | Random, *, small: bool = True, fixed: Mapping[str, Mapping[str, Any]] | None = None
) -> MixerSpec:
    """A random valid mixer.

    Args:
        seed_or_rng: a seed (same seed, same mixer) or a generator to draw from.
        small: state_dim <= 8, head_dim <= 4, num_heads 1 or 2, sometimes 4; else realistic sizes to 64.
        fixed: subfields that must have the given values, such as {"readout": {"kind": "identity"}}.

    Raises:
        ValueError: no valid mixer with the `fixed` subfields was found.
    """
    rng = seed_or_rng if isinstance(seed_or_rng, Random) else Random(seed_or_rng)
    for _ in range(MAX_ATTEMPTS):
        fields = _mixer(rng, small, fixed or {})
        try:
            return MixerSpec.model_validate(fields)
        except ValidationError:
            continue
    raise ValueError(f"no valid mixer with {fixed} in {MAX_ATTEMPTS} draws; relax `fixed`.")


def random_candidate(seed_or_rng: int | Random, *, small: bool = True) -> Candidate:
    """A random valid candidate of one to four blocks, some with parallel mixers or none."""
    rng = seed_or_rng if isinstance(seed_or_rng, Random) else Random(seed_or_rng)
    blocks = [_block(rng, small) for _ in range(rng.choice((1, 1, 2, 3, 4)))]
    if len(blocks) > 1 and _chance(rng, 0.3):
        blocks[1] = dict(blocks[0])
    return Candidate.model_validate(
        {
            "name": rng.choice(("unnamed", "a", "b")),
            "target": _target(rng),
            "model": {
                "model_dim": rng.choice((8, 16, 32)) if small else rng.choice((256, 512, 768)),
                "vocab_size": rng.choice((16, 64)),
                "positions": _simple(rng, ("none", "learned", "sinusoidal")),
                "residual_dtype": _simple(rng, DTYPES),
            },
            "blocks": blocks,
            "lint": _lint(rng),
        }
    )


@st.composite
def mixers(draw: st.DrawFn, *, small: bool = True) -> MixerSpec:
    """Hypothesis strategy over valid mixers."""
    return random_mixer(draw(st.randoms(use_true_random=False)), small=small)


@st.composite
def candidates(draw: st.DrawFn, *, small: bool = True) -> Candidate:
    """Hypothesis strategy over valid candidates."""
    return random_candidate(draw(st.randoms(use_true_random=False)), small=small)


def _simple(rng: Random, options: Sequence[Option], keep: float = KEEP) -> Option:
    """The first option with probability `keep`, else any of them."""
    return options[0] if rng.random() < keep else rng.choice(options)


def _chance(rng: Random, probability: float) -> bool:
    """True with this probability; the simplest draw, 0, gives False."""
    return rng.random() >= 1.0 - probability


def _number(rng: Random, nice: Sequence[float], low: float, high: float) -> float:
    """One of the nice numbers, sometimes any number of three digits between the bounds."""
    return round(rng.uniform(low, high), 3) if _chance(rng, 0.3) else rng.choice(nice)


def _interval(rng: Random, low: float, high: float) -> tuple[float, float]:
    first, second = (_number(rng, (low, high), low, high) for _ in range(2))
    return min(first, second), max(first, second)


def _mixer(rng: Random, small: bool, fixed: Mapping[str, Mapping[str, Any]]) -> Fields:
    """Fields of a mixer; each part sees the parts drawn (and fixed) before it."""
    parts: Fields = {}

    def settle(name: str, drawn: Fields) -> Fields:
        parts[name] = drawn | dict(fixed.get(name, {}))
        if name == "readout" and "kind" in fixed.get(name, {}):
            parts[name] = _readout_fields(rng, parts[name]["kind"]) | dict(fixed[name])
        return parts[name]  # type: ignore[no-any-return]

    heads = settle("heads", _heads(rng, small))
    readout = settle("readout", _readout(rng))
    lift = settle("lift", _lift(rng))
    features = settle("features", _features(rng, readout, small))
    support = settle("support", _support(rng, lift))
    alone = lift["kind"] == "shift"
    still = alone or support["mask"] == "none"
    decay = settle("decay", _decay(rng, features, lift, still))
    settle("rotation", _rotation(rng, heads, features, still=alone or lift["kind"] == "momentum"))
    erase = settle("erase", _erase(rng, lift, support, still))
    settle("shear", _shear(rng, readout, heads, still))
    settle("scaling", _scaling(rng, decay, erase, lift))
    settle("normalization", _normalization(rng))
    settle("io", _io(rng))
    settle("execution", _execution(rng))
    settle("lint", _lint(rng))
    for hole in _undrawn(parts):
        parts[hole.part][hole.path[1]] = _undrawn_value(rng, hole)
    return parts


def _undrawn(parts: Fields) -> list[GrammarHole]:
    """The keys of the grammar that are not in `parts`; the records inside of them are left at null."""
    holes = (hole for hole in grammar_holes(TINY.sizes) if len(hole.path) == 2)
    return [hole for hole in holes if hole.part != "readout" and hole.path[1] not in parts[hole.part]]


def _undrawn_value(rng: Random, hole: GrammarHole) -> Any:
    """Mostly the first option, else a word or a small number."""
    words = [value for value in hole.values[1:] if isinstance(value, str | bool)]
    numbers = [hole.value([number] * 2) for number in SIMPLE_NUMBERS] if hole.between else []
    return _simple(rng, [hole.values[0], *words, *numbers], keep=0.85)


def _heads(rng: Random, small: bool) -> Fields:
    num_heads = rng.choice((1, 2, 2, 4))
    layout = _simple(rng, ("multi", "channel"), keep=0.7)
    dims = (2, 4, 1, 3, 5, 6, 7, 8) if small else (16, 32, 64)
    state_dim = rng.choice(dims)
    latent = _chance(rng, 0.1)
    return {
        "layout": layout,
        "num_heads": num_heads,
        "state_dim": state_dim,
        "latent_dim": rng.choice((4, 1, 8)) if latent else None,
        "shared_key_dim": rng.randrange(state_dim) if latent else 0,
        "head_dim": 1 if layout == "channel" else rng.choice((2, 1, 3, 4) if small else (16, 32, 64)),
        "kv_groups": None if latent else _simple(rng, [None, *(g for g in (1, 2, 4) if num_heads % g == 0)]),
        "shared": _simple(rng, ("kv", "qk")),
    }


def _readout(rng: Random) -> Fields:
    kind = _simple(rng, ("identity", "exponential", "polynomial", "sigmoid", "relu", "softplus"), keep=0.3)
    return _readout_fields(rng, kind)


def _readout_fields(rng: Random, kind: str) -> Fields:
    fields: Fields = {"kind": kind, "softcap": _simple(rng, (None, 5.0, 1.0, 30.0, float("inf")), keep=0.75)}
    match kind:
        case "polynomial":
            degree = rng.choice((1, 2, 3, 4))
            fields["coefficients"] = [_number(rng, (1.0, 0.0, 0.5, -1.0), -1.5, 1.5) for _ in range(degree + 1)]
        case "sigmoid":
            fields["offset"] = rng.choice((0.0, "-log_length", -1.5, 0.25))
        case "relu":
            fields["power"] = rng.choice((1, 2))
    return fields


def _lift(rng: Random) -> Fields:
    kind = _simple(rng, ("none", "delay1", "momentum", "fenwick", "shift"), keep=0.6)
    return {"kind": kind, "width": rng.choice((1, 2, 3, 8)) if kind == "shift" else None}


def _features(rng: Random, readout: Fields, small: bool) -> Fields:
    linear = readout["kind"] == "identity" and readout["softcap"] in (None, float("inf"))
    names = [name for name in get_args(MapName) if linear or name not in LINEAR_ONLY]
    name = _simple(rng, names, keep=0.45)
    widths = (1, 2, 3) if name == "dpfp" else (2, 1, 4, 8) if small else (16, 64)
    return {
        "map": name,
        "width": rng.choice(widths) if name in ("dpfp", "favor", "rff") else None,
        "map_over": _simple(rng, ("features", "sequence"), keep=0.9),
        "norm": _simple(rng, ("none", "l2", "rms", "rms_weighted", "layernorm", "sum")),
        "gain": _number(rng, (1.0, 2.0, 0.5), 0.3, 2.0),
        "gain_shared": rng.choice((True, False)),
        "norm_order": _simple(rng, ("before_rotation", "after_rotation")),
        "eps": rng.choice((1e-6, 0.0, 1e-5)),
        "eps_kind": _simple(rng, ("sum", "mean")),
        "q_std": _number(rng, (1.0, 2.0, 0.5), 0.3, 2.0),
        "k_std": _number(rng, (1.0, 2.0, 0.5), 0.3, 2.0),
    }


def _support(rng: Random, lift: Fields) -> Fields:
    masks = ("causal", "strict", "none") if lift["kind"] == "none" else ("causal", "strict")
    mask = _simple(rng, masks, keep=0.7)
    read = "before" if mask == "causal" and lift["kind"] == "none" and _chance(rng, 0.2) else "after"
    diagonals = ("none", "D") if mask == "strict" else ("none", "D", "bonus")
    bound = _simple(rng, (None, "window", "chunk"), keep=0.6)
    length = rng.choice((4, 1, 2, 3, 7, 16))
    return {
        "mask": mask,
        "window": length if bound == "window" else None,
        "chunk": length if bound == "chunk" else None,
        "read": read,
        "diagonal": "bonus" if read == "before" else _simple(rng, diagonals),
    }


def _decay(rng: Random, features: Fields, lift: Fields, still: bool) -> Fields:
    granularity = "none" if still else _simple(rng, ("none", "scalar", "diagonal"), keep=0.3)
    if features["map"] == "one_minus_decay" and not still:
        granularity = "diagonal"
    if lift["kind"] == "momentum" and granularity == "diagonal":
        granularity = "scalar"
    sources = ("constant", "learned") if features["map"] == "static" else ("input", "constant", "learned")
    source = rng.choice(sources)
    if source == "constant":
        name = "fixed"
    else:
        from_input = ("complement", "ratio", "one_minus_bk2")
        name = rng.choice(
            [m for m in get_args(DecayMap) if m != "fixed" and (source == "input" or m not in from_input)]
        )
    bounds = _decay_range(rng, positive=name == "exp_lb_sigmoid")
    return {
        "granularity": "diagonal" if name == "one_minus_bk2" and granularity == "scalar" else granularity,
        "source": source,
        "map": name,
        "range": bounds,
        "initial": None if _chance(rng, 0.5) else _interval(rng, *bounds),
    }


def _decay_range(rng: Random, *, positive: bool) -> tuple[float, float]:
    if _chance(rng, 0.4):
        return (0.05, 1.0) if positive else (0.0, 1.0)
    nice = ((0.5, 1.0), (0.9, 0.999), (0.25, 0.75), (1.0, 1.0), (0.9, 0.9), (0.5, 1.25))
    if _chance(rng, 0.7):
        return rng.choice(nice)
    return _interval(rng, 0.05, 1.0)


def _rotation(rng: Random, heads: Fields, features: Fields, *, still: bool) -> Fields:
    source = "none" if still else _simple(rng, ("none", "constant", "learned", "input"), keep=0.5)
    fractions = (1.0, 0.5, 0.25, 0.0, 0.75) if heads["state_dim"] > 1 else (0.0, 1.0)
    fraction = _simple(rng, fractions)
    width = Features.model_validate(features).feature_dim(heads["state_dim"])
    pairs = Rotation(source=source, fraction=fraction).pairs(width)
    return {
        "source": source,
        "theta": rng.choice((10000.0, 500.0, 2.0)),
        "fraction": fraction,
        "scaling": _angle_scaling(rng, pairs) if source == "constant" and _chance(rng, 0.4) else None,
        "initial": _interval(rng, 0.0, 6.0) if source == "learned" and _chance(rng, 0.3) else None,
        "pairing": rng.choice(("half", "interleaved")),
        "phase_dtype": _simple(rng, DTYPES),
    }


def _angle_scaling(rng: Random, pairs: int) -> Fields:
    kind = rng.choice(("linear", "dynamic", "yarn", "llama3", "longrope", "proportional"))
    factors = [[_number(rng, (1.0, 2.0), 0.5, 4.0) for _ in range(pairs)] for _ in range(2)]
    return {
        "kind": kind,
        "factor": _number(rng, (2.0, 1.0, 8.0), 1.0, 8.0),
        "original_length": rng.choice((8, 2048)) if kind in ("dynamic", "yarn", "llama3", "longrope") else None,
        "truncate": rng.choice((True, False)),
        "short_factors": factors[0] if kind == "longrope" else None,
        "long_factors": factors[1] if kind == "longrope" else None,
    }


def _erase(rng: Random, lift: Fields, support: Fields, still: bool) -> Fields:
    direction = "none" if still else _simple(rng, ("none", "key", "free", "key_scaled"), keep=0.5)
    if lift["kind"] == "momentum":
        direction = rng.choice(("key", "key_scaled"))
    acts, simple = direction != "none", lift["kind"] == "momentum"
    one = not acts or lift["kind"] != "none" or support["read"] == "before"
    rank = 1 if one else _simple(rng, (1, 2, 3, 4))
    return {
        "direction": direction,
        "rank": rank,
        "gain": rng.choice(((0.0, 1.0), (0.0, 2.0), (0.0, 0.0), (0.5, 1.0), (1.0, 1.0), _interval(rng, 0.0, 2.0))),
        "per_channel": acts and not simple and rank == 1 and _chance(rng, 0.25),
        "compose": "product" if simple or rank > 1 else _simple(rng, ("product", "additive"), keep=0.7),
    }


def _shear(rng: Random, readout: Fields, heads: Fields, still: bool) -> Fields:
    linear = readout["kind"] == "identity" and readout["softcap"] in (None, float("inf"))
    source = "none" if still or linear else _simple(rng, ("none", "constant", "input", "table"))
    slope = _number(rng, (0.5, 0.0, 0.125), -1.0, 1.0)
    each = tuple(_number(rng, (0.5, 0.0, 0.25), -1.0, 1.0) for _ in range(heads["num_heads"]))
    return {
        "source": source,
        "slopes": rng.choice((None, slope, each)) if source == "constant" else None,
        "width": rng.choice((1, 2, 4, 16)) if source == "table" else None,
        "scaled": _chance(rng, 0.3),
        "sign": _simple(rng, ("decreasing", "increasing"), keep=0.7),
    }


def _scaling(rng: Random, decay: Fields, erase: Fields, lift: Fields) -> Fields:
    gate = _gate(rng, decay, erase, lift)
    ranged = gate in ("sigmoid", "two_sigmoid", "exp", "exp_key", "dt")
    wheres = ("score", "q", "k", "after") if gate == "none" else ("score", "q", "k")
    return {
        "base": rng.choice(("n^-1/2", "n^-1", 1.0, _number(rng, (0.5, 2.0), 0.1, 3.0))),
        "learnable": _chance(rng, 0.2),
        "where": _simple(rng, wheres),
        "gate": gate,
        "cap": rng.choice((None, 15.0, 2.0)) if gate in ("exp", "exp_key") else None,
        "query_schedule": _simple(rng, ("none", "log"), keep=0.85),
        "initial": rng.choice((None, (0.001, 0.1), (0.2, 0.8), (0.5, 0.5))) if ranged else None,
    }


def _gate(rng: Random, decay: Fields, erase: Fields, lift: Fields) -> str:
    acts = decay["granularity"] != "none"
    if lift["kind"] == "momentum":
        return "tied_to_erase"
    if acts and decay["map"] in ("complement", "one_minus_bk2"):
        return "sigmoid"
    barred = set()
    if erase["direction"] == "none" or erase["per_channel"]:
        barred.add("tied_to_erase")
    if not acts or decay["range"][1] > 1 or decay["granularity"] == "diagonal":
        barred |= {"complement", "sqrt_1_minus_a2"}
    if acts and decay["granularity"] == "diagonal" and decay["range"][1] <= 1 and _chance(rng, 0.3):
        barred -= {"complement", "sqrt_1_minus_a2"}  # valid where state_dim is 1
    if acts and decay["map"] != "exp_softplus":
        barred.add("dt")
    gates: list[str] = [gate for gate in get_args(Gate) if gate not in barred]
    return _simple(rng, gates, keep=0.35)


def _normalization(rng: Random) -> Fields:
    kinds = ("none", "sum", "sum_with_sink", "max_abs_sum_1", "learned", "length")
    return {
        "kind": _simple(rng, kinds, keep=0.3),
        "eps": _simple(rng, (0.0, 1e-6, 1e-3)),
        "eps_inside": rng.choice((None, True, False)),
        "factor": _number(rng, (1.0, 2.0, 0.5), 0.3, 3.0),
        "length_kind": rng.choice(("visible", "target")),
    }


def _io(rng: Random) -> Fields:
    streams = rng.choice(((), ("q", "k", "v"), ("k", "q"), ("v",), ("v", "k"), ("q",)))
    return {
        "short_conv": {"width": rng.choice((4, 1, 2)) if streams else 0, "on": streams},
        "value_activation": _simple(rng, ("none", "silu", "tanh")),
        "value_gate": _simple(rng, ("none", "sigmoid")),
        "output_norm": _simple(rng, ("none", "head_rms", "head_ln", "group_rms", "full_rms")),
        "norm_eps": rng.choice((1e-5, 0.0, 1e-6)),
        "gate": _simple(rng, ("none", "silu", "sigmoid", "gelu")),
        "order": rng.choice(("norm_then_gate", "gate_then_norm")),
    }


def _execution(rng: Random) -> Fields:
    forms = ("auto", "quadratic", "recurrent", "chunked", "scan", "fft", "fused")
    return {
        "form": _simple(rng, forms),
        "stabiliser": _simple(rng, ("row_max", "running_max", "floor", "none")),
        "dtype": {name: _simple(rng, DTYPES, keep=0.8) for name in ("params", "state", "scores")},
    }


def _lint(rng: Random) -> Fields:
    return {"ignore": [{"rule": "CD101", "reason": "short contexts only"}] if _chance(rng, 0.1) else []}


def _target(rng: Random) -> Fields:
    return {
        "seq_len": rng.choice((64, 1, 2048)),
        "dtype": _simple(rng, DTYPES),
        "needs": [need for need in get_args(Need) if _chance(rng, 0.2)],
        "recall_pairs": _simple(rng, (None, 8, 64)),
        "linear_time": _chance(rng, 0.2),
        "provenance": _simple(rng, ("new", "checkpoint")),
        "task": _simple(rng, ("sequence", "set")),
        "parametrisation": _simple(rng, ("standard", "mup")),
    }


def _block(rng: Random, small: bool) -> Fields:
    kind = rng.choice(("one", "one", "one", "parallel", "none"))
    mixer: Any = None
    if kind == "one":
        mixer = random_mixer(rng, small=small)
    if kind == "parallel":
        branches = [random_mixer(rng, small=small) for _ in range(rng.choice((2, 3)))]
        mixer = {"parallel": branches, "merge": rng.choice(("sum", "mean", "concat"))}
    return {
        "repeat": _simple(rng, (1, 2, 3)),
        "mixer": mixer,
        "skip": {"lambda": _simple(rng, (1.0, 0.0, 0.5))},
        "norm": {
            "kind": _simple(rng, ("rms", "layer", "none")),
            "placement": _simple(rng, ("pre", "post")),
        },
        "channel_mixer": {"kind": rng.choice(("swiglu", "mlp", "none")), "ratio": rng.choice((2.667, 4.0, 1.0))},
        "lint": _lint(rng),
    }
