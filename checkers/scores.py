"""Predicted scores at initialisation: mean and spread of z_ij at lag 0 over random tokens. Source: theory, P5.

Entries of q and k start as N(0, q_std^2) and N(0, k_std^2), independent over channels; sums over channels concentrate.
"""

import math
from functools import lru_cache
from typing import assert_never

from checkers.quadrature import Moments, Powers, moments, powers
from designspace.decay import Decay
from designspace.features import Features, MapName
from designspace.mixer import MixerSpec
from designspace.readout import Polynomial, Readout
from designspace.spec import Range
from designspace.streams import stream_counts

DEFAULT_DT = (0.001, 0.1)  # step sizes of Mamba, arXiv 2312.00752; what workers use where none is declared
ONE = Moments(1.0, 1.0)
CACHE = 4096
LARGEST = 1e18  # of a standard deviation, gain or base; predictions beyond it are the same
MAX_VARIANCE = 50.0  # of a raw entry behind an exponential; keeps exp(6 variance) finite


def score_moments(mixer: MixerSpec) -> Moments | None:
    """Moments of z_ij at lag 0 at initialisation, every factor multiplied; None where a source is not declared."""
    product, gate = product_moments(mixer), gate_moments(mixer)
    if product is None or gate is None:
        return None
    return product.times_independent(gate).times_independent(_present_share(mixer)).times(score_base(mixer))


def _present_share(mixer: MixerSpec) -> Moments:
    """What delay1 leaves of a gate of its own at lag 0: sigmoid(x), the rest goes to the previous key (Mamba-3)."""
    splits = mixer.lift.kind == "delay1" and mixer.scaling.gate not in ("none", "tied_to_erase")
    return _free_gate("sigmoid") if splits else ONE


def _stretched(product: Moments, mixer: MixerSpec) -> Moments | None:
    """The rotating share of the channels carries the attention factor f on both sides: f^2 on its part of the score.

    None where a norm ties the shares of entries with a mean to each other.
    """
    factor = tame(mixer.rotation.attention_factor) ** 2
    share = min(2.0 * mixer.rotation.pairs(mixer.key_dim) / _filled(mixer.features, mixer.heads.state_dim), 1.0)
    if factor == 1.0 or share == 0.0:
        return product
    if share < 1.0 and product.mean and mixer.features.norm != "none":
        return None
    mean = product.mean * (1.0 - share + share * factor)
    variance = (product.square - product.mean**2) * (1.0 - share + share * factor**2)
    return Moments(mean, variance + mean**2)


def score_base(mixer: MixerSpec) -> float:
    """The constant factor on the score; 1 where the base acts after phi."""
    return 1.0 if mixer.scaling.where == "after" else tame(mixer.base)


def tame(value: float) -> float:
    """`value` kept where its fourth power is a finite float."""
    return min(max(value, 1.0 / LARGEST), LARGEST)


def product_moments(mixer: MixerSpec) -> Moments | None:
    """Moments of q . k after feature map, norm, gain and attention factor, for two random tokens."""
    found = _product(mixer.features, mixer.heads.state_dim, _streams(mixer), _complement_entry(mixer))
    return None if found is None else _stretched(found, mixer)


def _streams(mixer: MixerSpec) -> tuple[int, int]:
    """Vectors whose lengths a norm takes together, of queries and of keys."""
    if mixer.features.norm_over == "head":
        return 1, 1
    count = stream_counts(mixer)
    return count.query, count.key


def _filled(features: Features, state_dim: int) -> int:
    """Channels after the map that are not 0 by construction."""
    return state_dim if features.map == "relu_zero" else features.feature_dim(state_dim)


@lru_cache(CACHE)
def _product(features: Features, state_dim: int, streams: tuple[int, int], complement: Powers | None) -> Moments | None:
    width, gain = _filled(features, state_dim), tame(features.gain) ** 2
    q_std, k_std = tame(features.q_std), tame(features.k_std)
    key: Powers | None
    match features.map:
        case "static" | "scaled_static" if features.norm == "none":
            return Moments(0.0, width * (q_std * k_std) ** 2).times(gain)
        case "static" | "scaled_static":  # a norm divides out the number of the token, up to its sign
            query, key = entry("identity", q_std, state_dim), entry("identity", k_std, state_dim)
        case "taylor2" if features.norm == "none":
            return _taylor(q_std * k_std).times(gain)
        case "favor" if features.norm == "none":
            variance = min((q_std * k_std) ** 2, MAX_VARIANCE)  # the features estimate exp(n^-1/2 q . k)
            return Moments(math.exp(0.5 * variance), math.exp(2.0 * variance)).times(gain)
        case "taylor2" | "favor" | "rff":
            return None
        case "one_minus_decay":
            query, key = entry("silu", q_std, state_dim), complement
        case name:
            query, key = entry(name, q_std, state_dim), entry(name, k_std, state_dim)
    return None if key is None else _normed(features, width, query, key, streams=streams)


def _normed(features: Features, width: int, query: Powers, key: Powers, *, streams: tuple[int, int]) -> Moments | None:
    """q . k of `width` independent entries, each vector divided by its norm (of all `streams` together)."""
    if features.norm != "none" and features.norm_on == "k":
        return None
    if features.norm == "layernorm" and features.map == "relu_zero":  # the mean lifts the zeros
        return None
    heads = math.sqrt(streams[0] * streams[1])
    if features.norm != "none" and not (query.square and key.square):  # a vector of zeros has no direction
        return None
    mean, spread = query.mean * key.mean, query.square * key.square - (query.mean * key.mean) ** 2
    match features.norm:
        case "none":
            length = 1.0
            spread += _sum_spread(query, key, (1, 1)) if features.map == "softmax_pm" else 0.0  # it divides by a sum
        case "l2" | "rms" | "rms_weighted":
            channels = 1.0 if features.norm != "l2" else width * heads
            if features.map == "relu_zero" and features.norm != "l2":
                channels = 0.5  # half of the channels that the mean square counts
            length = math.sqrt(query.square * key.square) * channels
            spread += _length_spread(query, key, streams)
        case "layernorm":
            mean, length = 0.0, math.sqrt(query.variance * key.variance)
            spread = length**2
        case "sum":
            if not features.is_nonnegative:
                return None
            length = (width * heads) ** 2 * mean
            spread += _sum_spread(query, key, streams)
        case _:
            assert_never(features.norm)
    if length == 0.0:  # constant entries, centred
        return None
    total = Moments(width * mean, width * spread + (width * mean) ** 2)
    return total.times(tame(features.gain) ** 2 / length)


def _length_spread(query: Powers, key: Powers, streams: tuple[int, int]) -> float:
    """What dividing by |q| |k| adds to the variance per channel of x y, to first order (delta method).

    x y is corrected by a / 2 (x^2 / E x^2 + y^2 / E y^2) with a = E x E y: long vectors also have long products. A
    length of several heads together depends on each of them by as much less.
    """
    mean = query.mean * key.mean
    own = sum(
        0.25 * mean**2 * (one.fourth / one.square**2 - 1.0) / count
        for one, count in zip((query, key), streams, strict=True)
    )
    shared = sum(
        mean * other.mean * (one.cube - one.mean * one.square) / one.square / count
        for (one, other), count in zip(((query, key), (key, query)), streams, strict=True)
    )
    return own - shared


def _sum_spread(query: Powers, key: Powers, streams: tuple[int, int]) -> float:
    """The same for division by the sums of q and k: the correction is a (x / E x + y / E y)."""
    mean = query.mean * key.mean
    own = sum(mean**2 * one.variance / one.mean**2 / count for one, count in zip((query, key), streams, strict=True))
    shared = sum(
        2.0 * mean * other.mean * one.variance / one.mean / count
        for (one, other), count in zip(((query, key), (key, query)), streams, strict=True)
    )
    return own - shared


@lru_cache(CACHE)
def entry(name: MapName, std: float, state_dim: int) -> Powers:
    """Powers of one entry of a key (or query) after the elementwise map, for raw entries N(0, std^2).

    Raises:
        ValueError: the map is not elementwise.
    """
    match name:
        case "identity":
            return Powers(0.0, std**2, 0.0, 3.0 * std**4)
        case "hadamard":
            raw = entry("identity", std, state_dim)
            return raw.times_independent(raw)
        case "silu":
            return powers(lambda x: silu(std * x))
        case "relu" | "relu_zero":
            half = std / math.sqrt(2.0 * math.pi)
            return Powers(half, 0.5 * std**2, 2.0 * half * std**2, 1.5 * std**4)
        case "elu+1":
            return powers(lambda x: std * x + 1.0 if x > 0 else math.exp(std * x))
        case "softmax_pm":
            return _softmax_entry(min(std**2, MAX_VARIANCE), 2 * state_dim)
        case "dpfp":
            relu = entry("relu", std, state_dim)
            return relu.times_independent(relu)
        case "ones":
            return Powers(1.0, 1.0, 1.0, 1.0)
        case "taylor2" | "favor" | "rff" | "one_minus_decay" | "static" | "scaled_static":
            raise ValueError(f"`{name}` is not an elementwise map of the raw entries.")
        case _:
            assert_never(name)


def _softmax_entry(variance: float, width: int) -> Powers:
    """exp(x) / (width E exp(x)): lognormal entries over a sum that concentrates."""
    return Powers(*(math.exp(0.5 * d * (d - 1) * variance) / width**d for d in (1, 2, 3, 4)))


def gate_moments(mixer: MixerSpec) -> Moments | None:
    """Moments of the scaling gate at initialisation; None where it is computed from a decay nobody declared."""
    gate, initial = mixer.scaling.gate, mixer.scaling.initial
    match gate:
        case "none" | "index":
            return ONE
        case "sigmoid" | "two_sigmoid" | "exp" | "exp_key":
            return uniform(initial) if initial else _free_gate(gate)
        case "dt":
            return log_uniform(initial or DEFAULT_DT)
        case "complement":
            return _complement(mixer.decay)
        case "sqrt_1_minus_a2":
            return _sqrt_complement(mixer.decay)
        case "step_power":
            return None
        case "tied_to_erase":
            return _erase_gain(mixer.erase.gain)
        case _:
            assert_never(gate)


@lru_cache(8)
def _free_gate(gate: str) -> Moments:
    """Moments of a gate whose pre-activation starts as N(0, 1)."""
    if gate in ("exp", "exp_key"):
        return Moments(math.exp(0.5), math.exp(2.0))
    return moments(lambda x: 1.0 / (1.0 + math.exp(-x))).times(2.0 if gate == "two_sigmoid" else 1.0)


@lru_cache(CACHE)
def _erase_gain(bounds: Range) -> Moments:
    """Moments of an erase gain lo + (hi - lo) sigmoid(x) whose pre-activation starts as N(0, 1)."""
    low, high = bounds
    return moments(lambda x: low + (high - low) / (1.0 + math.exp(-x)))


def _complement_entry(mixer: MixerSpec) -> Powers | None:
    """Powers of a key entry 1 - a, uniform over the initial range; None for other maps and undeclared ranges."""
    initial = mixer.decay.initial_range
    if mixer.features.map != "one_minus_decay" or initial is None:
        return None
    low, high = 1.0 - initial[1], 1.0 - initial[0]
    if low == high:
        return Powers(*(low**d for d in (1, 2, 3, 4)))
    return Powers(*((high ** (d + 1) - low ** (d + 1)) / ((d + 1) * (high - low)) for d in (1, 2, 3, 4)))


def _complement(decay: Decay) -> Moments | None:
    """Moments of 1 - a over the initial range."""
    initial = decay.initial_range
    return None if initial is None else uniform((1.0 - initial[1], 1.0 - initial[0]))


def _sqrt_complement(decay: Decay) -> Moments | None:
    """Moments of sqrt(1 - a^2) over the initial range."""
    initial = decay.initial_range
    return None if initial is None else uniform((sqrt_complement(initial[1]), sqrt_complement(initial[0])))


def sqrt_complement(factor: float) -> float:
    """sqrt(1 - a^2), 0 beyond a = 1."""
    return math.sqrt(max(1.0 - factor * factor, 0.0))


def uniform(bounds: Range) -> Moments:
    """Moments of a uniform variable."""
    low, high = bounds
    return Moments(0.5 * (low + high), (low * low + low * high + high * high) / 3.0)


def log_uniform(bounds: Range) -> Moments:
    """Moments of a variable whose log is uniform; of a uniform one where the range touches 0."""
    low, high = bounds
    if low <= 0.0 or low == high:
        return uniform(bounds)
    span = math.log(high / low)
    return Moments((high - low) / span, (high * high - low * low) / (2.0 * span))


def _taylor(std: float) -> Moments:
    """1 + z + z^2 / 2 for z ~ N(0, std^2)."""
    return Moments(1.0 + 0.5 * std**2, 1.0 + 2.0 * std**2 + 0.75 * std**4)


def silu(x: float) -> float:
    """x sigmoid(x)."""
    return x * 0.5 * (1.0 + math.tanh(0.5 * x))


def effective_readout(mixer: MixerSpec) -> Readout:
    """phi with the feature map that only expands the score folded in: taylor2 is 1 + z + z^2 / 2 (equivalence 3)."""
    if mixer.features.map == "taylor2" and mixer.features.norm_keeps_signs:
        return Polynomial(kind="polynomial", coefficients=(1.0, 1.0, 0.5))
    return mixer.readout


def scores_are_nonnegative(mixer: MixerSpec) -> bool:
    """Every score is >= 0: features without a sign, and an evolution that only scales each channel."""
    turns = not mixer.rotation.is_identity or not mixer.erase.is_identity
    wraps = mixer.lift.kind in ("momentum", "shift") or not mixer.shear.is_identity
    features = mixer.features
    positive_map = features.is_nonnegative or (features.map == "taylor2" and features.norm_keeps_signs)
    return positive_map and not turns and not wraps
