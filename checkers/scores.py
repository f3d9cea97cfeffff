"""Predicted scores at initialisation: mean and spread of z_ij at lag 0 over random tokens. Source: theory, P5.

Entries of q and k start as N(0, q_std^2) and N(0, k_std^2), independent over channels; sums over channels concentrate.
"""

import math
from functools import lru_cache
from typing import assert_never

from checkers.quadrature import Moments, moments
from designspace.decay import Decay
from designspace.features import Features, MapName
from designspace.mixer import MixerSpec
from designspace.readout import Polynomial, Readout
from designspace.spec import Range

DEFAULT_DT = (0.001, 0.1)  # step sizes of Mamba, arXiv 2312.00752; what workers use where none is declared
ONE = Moments(1.0, 1.0)
CACHE = 4096


def score_moments(mixer: MixerSpec) -> Moments | None:
    """Moments of z_ij at lag 0 at initialisation, every factor multiplied; None where a source is not declared."""
    product, gate = product_moments(mixer), gate_moments(mixer)
    if product is None or gate is None:
        return None
    base = 1.0 if mixer.scaling.where == "after" else mixer.scaling.factor(mixer.key_dim)
    return product.times_independent(gate).times(base)


def product_moments(mixer: MixerSpec) -> Moments | None:
    """Moments of q . k after feature map, norm and gain, for a query and a key of two random tokens."""
    complement = _complement(mixer.decay) if mixer.features.map == "one_minus_decay" else None
    return _product(mixer.features, mixer.heads.state_dim, complement)


@lru_cache(CACHE)
def _product(features: Features, state_dim: int, complement: Moments | None) -> Moments | None:
    width, gain = features.feature_dim(state_dim), features.gain**2
    match features.map:
        case "static":
            return Moments(0.0, width * (features.q_std * features.k_std) ** 2).times(gain)
        case "taylor2" if features.norm == "none":
            return _taylor(features.q_std * features.k_std).times(gain)
        case "favor" if features.norm == "none":
            variance = (features.q_std * features.k_std) ** 2  # the features estimate exp(n^-1/2 q . k)
            return Moments(math.exp(0.5 * variance), math.exp(2.0 * variance)).times(gain)
        case "taylor2" | "favor" | "rff":
            return None
        case "one_minus_decay":
            query, key = entry("silu", features.q_std, state_dim), complement
        case name:
            query, key = entry(name, features.q_std, state_dim), entry(name, features.k_std, state_dim)
    return None if key is None else _normed(features, width, query, key)


def _normed(features: Features, width: int, query: Moments, key: Moments) -> Moments | None:
    """q . k of `width` independent entries, each vector divided by its norm's typical length."""
    mean, square = query.mean * key.mean, query.square * key.square
    match features.norm:
        case "none":
            length = 1.0
        case "l2":
            length = width * math.sqrt(square)
        case "rms" | "rms_weighted":
            length = math.sqrt(square)
        case "layernorm":
            mean, square, length = 0.0, query.std**2 * key.std**2, query.std * key.std
        case "sum":
            length = width**2 * mean
        case _:
            assert_never(features.norm)
    if length == 0.0:
        return None
    total = Moments(width * mean, width * (square - mean**2) + (width * mean) ** 2)
    return total.times(features.gain**2 / length)


@lru_cache(CACHE)
def entry(name: MapName, std: float, state_dim: int) -> Moments:
    """Moments of one entry of a key (or query) after the elementwise map, for raw entries N(0, std^2).

    Raises:
        ValueError: the map is not elementwise.
    """
    match name:
        case "identity":
            return Moments(0.0, std**2)
        case "hadamard":
            return Moments(0.0, std**4)
        case "silu":
            return moments(lambda x: silu(std * x))
        case "relu":
            return Moments(std / math.sqrt(2.0 * math.pi), 0.5 * std**2)
        case "elu+1":
            return moments(lambda x: std * x + 1.0 if x > 0 else math.exp(std * x))
        case "softmax_pm":
            return Moments(1.0, math.exp(min(std**2, 100.0))).times(1.0 / (2 * state_dim))
        case "dpfp":
            relu = entry("relu", std, state_dim)
            return relu.times_independent(relu)
        case "ones":
            return ONE
        case "taylor2" | "favor" | "rff" | "one_minus_decay" | "static":
            raise ValueError(f"`{name}` is not an elementwise map of the raw entries.")
        case _:
            assert_never(name)


def gate_moments(mixer: MixerSpec) -> Moments | None:
    """Moments of the scaling gate at initialisation; None where it is computed from a decay nobody declared."""
    return _gate(mixer, mixer.scaling.initial)


def _gate(mixer: MixerSpec, initial: Range | None) -> Moments | None:
    gate = mixer.scaling.gate
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
        case "tied_to_erase":
            return uniform(mixer.erase.gain)
        case _:
            assert_never(gate)


@lru_cache(8)
def _free_gate(gate: str) -> Moments:
    """Moments of a gate whose pre-activation starts as N(0, 1)."""
    if gate in ("exp", "exp_key"):
        return Moments(math.exp(0.5), math.exp(2.0))
    return moments(lambda x: 1.0 / (1.0 + math.exp(-x))).times(2.0 if gate == "two_sigmoid" else 1.0)


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
    if mixer.features.map == "taylor2":
        return Polynomial(kind="polynomial", coefficients=(1.0, 1.0, 0.5))
    return mixer.readout


def scores_are_nonnegative(mixer: MixerSpec) -> bool:
    """Every score is >= 0: features without a sign, and an evolution that only scales each channel."""
    turns = not mixer.rotation.is_identity or not mixer.erase.is_identity
    wraps = mixer.lift.kind in ("momentum", "shift") or not mixer.shear.is_identity
    positive_map = mixer.features.is_nonnegative or mixer.features.map == "taylor2"
    return positive_map and not turns and not wraps
