"""Queries and keys at initialisation: moments of their entries after feature map, norm and gain. Source: theory, P5.

Raw entries of q and k start as N(0, q_std^2) and N(0, k_std^2), independent over channels (`checkers.vectors`).
"""

import math
from functools import lru_cache

from checkers import starts, vectors
from checkers.quadrature import Powers
from checkers.starts import complement
from checkers.vectors import Vector
from designspace.features import Features, MapName, NormName, Side
from designspace.mixer import MixerSpec
from designspace.recent import recent
from designspace.streams import stream_counts

CACHE = 4096
LARGEST = 1e18  # of a standard deviation, gain or base; predictions beyond it are the same
NO_SPREAD = 1e-12  # of a square: rounding
MANY_SHIFTS = 16  # of dpfp; the papers take 1 to 3


@recent
def query_vector(mixer: MixerSpec) -> Vector | None:
    """A query after map, norm and gain; None without second moments."""
    features = mixer.features
    count = stream_counts(mixer).query
    found = _vector(mixer, "q", count)
    return None if found is None else found.times(tame(features.gain))


@recent
def key_vector(mixer: MixerSpec) -> Vector | None:
    """A key after map, norm, gain and, for the gate `step_power`, its step; None without second moments."""
    features = mixer.features
    count = stream_counts(mixer).key
    found = _complement_key(mixer) if features.map == "one_minus_decay" else _vector(mixer, "k", count)
    if found is None:
        return None
    found = found.times(tame(features.gain))
    return found if mixer.scaling.gate != "step_power" else found.times_independent(starts.step_power(mixer))


def underived(mixer: MixerSpec) -> str | None:
    """Why the spread of q . k is not predicted; None where it is."""
    features = mixer.features
    name, norm = features.map, features.norm
    signed = name in ("identity", "silu", "hadamard", "static", "scaled_static", "rff", "taylor2")
    if name == "favor":
        return "`map: favor` estimates exp(q . k) with random weights, whose heavy tail has no useful second moment"
    if norm == "sum" and (signed or (name == "one_minus_decay" and features.norm_on == "qk")):
        return f"`norm: sum` divides the signed entries of `map: {name}` by a sum that crosses zero"
    if (name, norm) == ("taylor2", "layernorm") or (name == "dpfp" and norm not in ("none", "sum")):
        return f"the spread of `map: {name}` behind `norm: {norm}` is not derived"
    if name == "dpfp" and (features.width or 1) > MANY_SHIFTS:
        return f"the pairs of channels of `map: dpfp` are counted up to `width: {MANY_SHIFTS}`"
    if name == "dpfp" and norm == "sum" and mixer.heads.state_dim * (features.width or 1) == 1:
        return "`map: dpfp` with `width: 1` of one channel is relu(x) relu(-x) = 0, which `norm: sum` divides by itself"
    if name == "dpfp" and (features.width or 1) > MANY_SHIFTS:
        return f"the pairs of channels of `map: dpfp` are counted up to `width: {MANY_SHIFTS}`"
    if name in ("taylor2", "rff", "dpfp") and writes_longhorn(mixer):
        return f"keys of `map: {name}` behind the gate of Longhorn, which their length moves, are not derived"
    if name in ("taylor2", "rff", "dpfp") and (mixer.lift.kind == "shift" or _rotates_in_part(mixer)):
        return f"`map: {name}` with factors that differ from channel to channel is not derived"
    if name in ("taylor2", "rff", "dpfp") and norm != "none" and features.norm_on == "k":
        return f"the spread of `map: {name}` with a norm on the keys alone is not derived"
    if name == "relu_zero" and norm == "layernorm":
        return "`norm: layernorm` lifts the zeros of `map: relu_zero`"
    if name == "softmax_pm" and features.map_over == "sequence":
        return "`map_over: sequence` divides by a sum over the positions, so the scores depend on the length"
    if name == "one_minus_decay" and starts.reads_gate(mixer):
        return "`map: one_minus_decay` makes keys of the number that the scaling gate is"
    if name == "one_minus_decay" and one_factor_per_head(mixer) and (mixer.scaling.gate != "none" or norm != "none"):
        return "`map: one_minus_decay` of one factor per head: its keys go with the gate of the head, or are all 0"
    if name == "one_minus_decay" and norm != "none" and not starts.of_decay(mixer, complement).mean > 0.0:
        return "`map: one_minus_decay` starts with keys of zeros, which have no direction"
    return None


def writes_longhorn(mixer: MixerSpec) -> bool:
    """The write is g / (1 + g |k|^2): gate and key depend on each other."""
    return mixer.decay.map == "one_minus_bk2" and mixer.decay.granularity != "none"


def one_factor_per_head(mixer: MixerSpec) -> bool:
    """The decay has one factor for all channels of a key."""
    return mixer.decay.source == "constant" or mixer.key_dim == 1


def _rotates_in_part(mixer: MixerSpec) -> bool:
    """Some channels carry the attention factor and others do not."""
    rotating = 2 * mixer.rotation.pairs(mixer.key_dim)
    return mixer.rotation.attention_factor != 1.0 and 0 < rotating < mixer.key_dim - 1  # an odd one out is nothing


def entry_of(mixer: MixerSpec, side: Side) -> vectors.Entry:
    """One channel of q or k after an elementwise map."""
    features = mixer.features
    std = tame(features.std_of(side))
    map_name: MapName = "relu" if features.map == "dpfp" else features.map
    return vectors.entry(map_name, std, _taps(mixer, side))


def _taps(mixer: MixerSpec, side: Side) -> int:
    """Taps of the short convolution on q or k; keys that are made of a latent vector pass it before their weights."""
    conv = mixer.io.short_conv
    made = side == "k" and mixer.heads.latent_dim is not None
    return conv.width if side in conv.on and not made else 0


def _vector(mixer: MixerSpec, side: Side, streams: int) -> Vector | None:
    """A query or key of a map that acts on each raw entry (softmax_pm: on mirror pairs), behind its norm."""
    features = mixer.features
    bare, norm = _bare(mixer, side), features.norm_of(side)
    if norm == "none":
        return bare
    heads = streams if features.norm_over == "all_heads" else 1
    together, length = bare.width * heads, mixer.key_dim * heads
    std = tame(features.std_of(side))
    found: Vector | None
    match features.map:
        case "ones":
            found = vectors.constant(bare.width, 0.0 if norm == "layernorm" else 1.0 / _length_of(norm, together))
        case "softmax_pm":
            found = vectors.softmax_pm(std, _taps(mixer, side), norm, bare.width // 2, together // 2)
        case "static" | "scaled_static":
            found = vectors.normed("identity", 1.0, 0, norm, together, bare.width)
        case "identity" | "relu" | "relu_zero" as scale_free:
            found = vectors.normed(scale_free, 1.0, _taps(mixer, side), norm, together, bare.width)
        case elementwise:
            found = vectors.normed(elementwise, std, _taps(mixer, side), norm, together, bare.width)
    if found is None:
        return None
    if features.map == "static":
        found = vectors.drawn_once(found)
    return found.times(_shrunk(features, norm, bare, together, length)).times(
        1.0 if norm in ("l2", "sum") else math.sqrt(length)
    )


def _length_of(norm: NormName, together: int) -> float:
    """What divides a vector of ones."""
    return float(together) if norm == "sum" else math.sqrt(together)


def _shrunk(features: Features, norm: NormName, bare: Vector, together: int, length: int) -> float:
    """What eps leaves of a normed vector."""
    if norm == "sum":
        return bare.mean * together / (bare.mean * together + features.eps) if bare.mean > 0.0 else 1.0
    energy = together * (bare.square - bare.mean**2 if norm == "layernorm" else bare.square)
    eps = features.eps * (length if features.eps_kind == "mean" else 1.0)
    return math.sqrt(energy / (energy + eps)) if energy > 0.0 else 1.0


def _bare(mixer: MixerSpec, side: Side) -> Vector:
    """A query or key before its norm."""
    features, width = mixer.features, mixer.heads.state_dim
    std = tame(features.std_of(side))
    match features.map:
        case "ones":
            return vectors.constant(width)
        case "softmax_pm":
            return vectors.softmax_pm(std, _taps(mixer, side), "none", width, width)
        case "static":
            return vectors.drawn_once(vectors.independent(width, vectors.entry("identity", std)))
        case "scaled_static":
            return vectors.independent(width, vectors.entry("identity", std))
        case _:
            return vectors.independent(width, entry_of(mixer, side))


def _complement_key(mixer: MixerSpec) -> Vector:
    """Keys 1 - a of a diagonal decay: the grid over the channels stays, the tokens move each a little."""
    width, norm = mixer.key_dim, mixer.features.norm
    found = starts.of_decay(mixer, complement)
    if one_factor_per_head(mixer):
        return Vector(width, found.mean, *(found.square,) * 3, *(found.fixed,) * 2)
    total = (width * found.mean) ** 2
    cross, fixed_cross = ((total - width * own) / (width * (width - 1)) for own in (found.square, found.fixed))
    bare = Vector(width, found.mean, found.square, cross, cross, found.fixed, fixed_cross)
    match norm:
        case "none":
            return bare
        case "sum":
            return bare.times(_shrunk(mixer.features, norm, bare, width, width) / (width * found.mean))
        case "layernorm":
            variance = found.square - cross
            if variance <= NO_SPREAD * found.square:
                return vectors.constant(width, 0.0)
            fixed = (found.fixed - fixed_cross) / variance * (width - 1) / width
            others = -1.0 / (width - 1)
            return Vector(width, 0.0, 1.0, others, others, fixed, others * fixed)
        case _:
            length = math.sqrt(found.square * (width if norm == "l2" else 1.0))
            return bare.times(_shrunk(mixer.features, norm, bare, width, width) / length)


@lru_cache(CACHE)
def entry_powers(name: MapName, std: float, state_dim: int) -> Powers:
    """Powers of one entry of a key (or query) after the map, for raw entries N(0, std^2) and keys of `state_dim`.

    Raises:
        ValueError: the map is not elementwise.
    """
    match name:
        case "softmax_pm":
            variance, width = min(std**2, vectors.MAX_STD**2), 2 * state_dim
            return Powers(*(math.exp(0.5 * d * (d - 1) * variance) / width**d for d in (1, 2, 3, 4)))
        case "dpfp":
            relu = entry_powers("relu", std, state_dim)
            return relu.times_independent(relu)
        case "ones":
            return Powers(1.0, 1.0, 1.0, 1.0)
        case "taylor2" | "favor" | "rff" | "one_minus_decay" | "static" | "scaled_static":
            raise ValueError(f"`{name}` is not an elementwise map of the raw entries.")
        case _:
            return vectors.entry(name, std).powers


def tame(value: float) -> float:
    """`value` kept where its fourth power is a finite float."""
    return min(max(value, 1.0 / LARGEST), LARGEST)
