"""Predicted scores at initialisation: mean and spread of z_ij at lag 0 over random tokens. Source: theory, P5.

Queries and keys start as in `checkers.projections`, gates and decays as in `checkers.starts`. Every factor that the
definition puts on the score at lag 0 is multiplied.
"""

import math
from functools import lru_cache
from typing import assert_never

from checkers import starts, vectors
from checkers.expansions import expanded_product
from checkers.projections import entry_of, key_vector, query_vector, tame, underived, writes_longhorn
from checkers.quadrature import COARSE, Moments, Spread
from checkers.vectors import Vector
from designspace.mixer import MixerSpec
from designspace.readout import Polynomial, Readout
from designspace.recent import recent
from designspace.scaling import QUERY_SCHEDULE_FLOOR, log_schedule

ONE = Spread(1.0, 1.0, 1.0)
CACHE = 4096
LEAST_ROOT = 1e-6  # of 1 - a^2: below it the compiled mixer holds the gate constant
EULER = 0.5772156649015329
SUMMED = 1000  # terms of a harmonic sum that are added one by one


def score_moments(mixer: MixerSpec, seq_len: int = 1) -> Spread | None:
    """Moments of z_ij at lag 0 at initialisation, every factor multiplied; None where `underived` says why.

    Args:
        seq_len: where a factor depends on the position (gate `index`, query schedule), over positions 1..seq_len.
    """
    written = _written_spread(mixer, seq_len)
    if written is None:
        return None
    factors = lift_spread(mixer).times_independent(query_schedule(mixer, seq_len))
    return written.times_independent(factors).times(score_base(mixer))


def score_base(mixer: MixerSpec) -> float:
    """The constant factor on the score, kept where predictions are finite."""
    return tame(mixer.score_base)


def product_moments(mixer: MixerSpec) -> Moments | None:
    """Moments of q . k after feature map, norm, gain and attention factor, for two random tokens and random weights."""
    found = product_spread(mixer)
    return None if found is None else found.moments


@recent
def product_spread(mixer: MixerSpec) -> Spread | None:
    """The spread of q . k after feature map, norm, gain, attention factor and the first tap of a shift."""
    features = mixer.features
    if underived(mixer) is not None:
        return None
    special = expanded_product(mixer)
    if special is not None:
        factor = mixer.rotation.attention_factor if mixer.rotation.pairs(mixer.key_dim) else 1.0
        return special.times((tame(features.gain) * tame(factor)) ** 2)
    query, key = query_vector(mixer), key_vector(mixer)
    return None if query is None or key is None else _dot(mixer, query, key)


def _written_spread(mixer: MixerSpec, seq_len: int) -> Spread | None:
    """The spread of q . k times the gate."""
    product = product_spread(mixer)
    if product is None or not writes_longhorn(mixer):
        return None if product is None else product.times_independent(gate_spread(mixer, seq_len))
    query, key = query_vector(mixer), key_vector(mixer)
    return None if query is None or key is None else _dot(mixer, query, _written_key(mixer, key))


def _dot(mixer: MixerSpec, query: Vector, key: Vector) -> Spread:
    """The sum over channels of q_c k_c w_c; w is the squared attention factor, and the first tap of a shift."""
    width = query.width
    factor = tame(mixer.rotation.attention_factor) ** 2
    share = min(2.0 * mixer.rotation.pairs(mixer.key_dim) / width, 1.0)
    once, own = width * (1.0 - share + share * factor), width * (1.0 - share + share * factor**2)
    pairs = once**2 - own
    mirrors = once**2 / width
    if mixer.lift.kind == "shift":  # taps start as N(0, 1 / width), each channel its own
        once, own, pairs, mirrors = 0.0, own / (mixer.lift.width or 1), 0.0, 0.0
    square = own * query.square * key.square + pairs * query.cross * key.cross
    square += mirrors * (query.mirror * key.mirror - query.cross * key.cross)
    fixed = own * query.fixed * key.fixed + pairs * query.fixed_cross * key.fixed_cross
    return Spread(once * query.mean * key.mean, square, fixed)


def gate_moments(mixer: MixerSpec) -> Moments:
    """Moments of the scaling gate at initialisation; of the first key for `index`."""
    return gate_spread(mixer).moments


@recent
def gate_spread(mixer: MixerSpec, seq_len: int = 1) -> Spread:
    """The scaling gate at initialisation; `step_power` is part of the key."""
    match mixer.scaling.gate:
        case "none" | "step_power":
            return ONE
        case "index":
            return _index_gate(seq_len)
        case "sigmoid" | "two_sigmoid" | "exp" | "exp_key" | "dt":
            return _longhorn_gate(mixer) if writes_longhorn(mixer) else starts.gate(mixer)
        case "complement":
            return starts.of_decay(mixer, starts.complement)
        case "sqrt_1_minus_a2":
            return starts.of_decay(mixer, lambda factor: max(starts.sqrt_complement(factor), LEAST_ROOT))
        case "tied_to_erase":
            return starts.erase_gain(mixer.erase.gain)
        case _:
            assert_never(mixer.scaling.gate)


@lru_cache(CACHE)
def _index_gate(seq_len: int) -> Spread:
    """1 / j over the positions 1..seq_len."""
    if seq_len <= SUMMED:
        first = math.fsum(1.0 / j for j in range(1, seq_len + 1))
        second = math.fsum(1.0 / (j * j) for j in range(1, seq_len + 1))
    else:
        first = math.log(seq_len) + EULER + 0.5 / seq_len
        second = math.pi**2 / 6.0 - 1.0 / seq_len + 0.5 / seq_len**2
    return Spread(first / seq_len, second / seq_len, (first / seq_len) ** 2)


def _longhorn_gate(mixer: MixerSpec) -> Spread:
    """The gate whose product with an independent key has the moments of the key that Longhorn writes."""
    key = None if underived(mixer) is not None else key_vector(mixer)
    if key is None or not key.square:
        return ONE
    written = _written_key(mixer, key)
    square = written.square / key.square
    mean = written.mean / key.mean if key.mean else math.sqrt(square)
    return Spread(mean, square, mean**2)


def _written_key(mixer: MixerSpec, key: Vector) -> Vector:
    """Keys k g / (1 + g |k|^2) of Longhorn, whose gate and key depend on each other: long keys are written less.

    S = sum of k follows |k|^2 by its regression; what is left of its variance is `rest`.
    """
    width, length, total = key.width, key.width * key.square, key.width * key.mean
    variance, slope = _length_spread(mixer, key)
    rest = max(length + width * (width - 1) * key.cross - total**2 - slope**2 * variance, 0.0)
    sigma = math.sqrt(math.log1p(variance / length**2)) if length else 0.0
    lengths = [(w, length * math.exp(sigma * z - 0.5 * sigma**2)) for z, w in COARSE] if sigma else [(1.0, length)]
    heads = []
    for gates in starts.longhorn_gates(mixer):
        writes = [(u * w, square, gate / (1.0 + gate * square)) for u, gate in gates for w, square in lengths]
        heads.append(
            (
                math.fsum(w * (total + slope * (square - length)) * b for w, square, b in writes),
                math.fsum(w * square * b * b for w, square, b in writes),
                math.fsum(w * ((total + slope * (square - length)) ** 2 + rest) * b * b for w, square, b in writes),
            )
        )
    mean, own, summed = (math.fsum(values) / len(heads) for values in zip(*heads, strict=True))
    fixed = math.fsum(one[0] ** 2 for one in heads) / len(heads) / width**2
    share = key.fixed / key.mean**2 if key.mean else 1.0
    cross = (summed - own) / (width * (width - 1)) if width > 1 else 0.0
    return Vector(width, mean / width, own / width, cross, cross, share * fixed, fixed)


def _length_spread(mixer: MixerSpec, key: Vector) -> tuple[float, float]:
    """Variance of |k|^2 over tokens, 0 behind a norm of the head; and the slope of the sum of k against it."""
    features = mixer.features
    if features.norm in ("l2", "rms", "rms_weighted", "layernorm") or features.map in ("ones", "softmax_pm", "static"):
        return 0.0, 0.0
    powers = entry_of(mixer, "k").powers if features.map != "scaled_static" else vectors.entry("identity", 1.0).powers
    scale = key.square / powers.square if powers.square else 0.0
    spread = powers.fourth - powers.square**2
    slope = (powers.cube - powers.mean * powers.square) / spread if spread > 0.0 else 0.0
    return key.width * spread * scale**2, slope / math.sqrt(scale) if scale else 0.0


def lift_spread(mixer: MixerSpec) -> Spread:
    """What a lift multiplies at lag 0: the share that delay1 leaves of a gate of its own (Mamba-3), the rate of a heavy
    ball, the weight of the first Fenwick level. The taps of a shift are part of the product.
    """
    match mixer.lift.kind:
        case "delay1":
            splits = mixer.scaling.gate not in ("none", "tied_to_erase", "step_power")
            return starts.UNBIASED if splits else ONE
        case "momentum":
            return starts.UNBIASED
        case "fenwick":
            return starts.LEVEL
        case "none" | "shift":
            return ONE
        case _:
            assert_never(mixer.lift.kind)


def query_schedule(mixer: MixerSpec, seq_len: int) -> Spread:
    """The factor 1 + 0.1 log(1 + floor(i / 8192)) of the queries at positions 1..seq_len (Llama 4)."""
    return _schedule(seq_len) if mixer.scaling.query_schedule == "log" else ONE


@lru_cache(CACHE)
def _schedule(seq_len: int) -> Spread:
    factors = [
        (min((block + 1) * QUERY_SCHEDULE_FLOOR - 1, seq_len) - max(block * QUERY_SCHEDULE_FLOOR - 1, 0), block)
        for block in range(seq_len // QUERY_SCHEDULE_FLOOR + 1)
    ]
    values = [(count / seq_len, log_schedule(block * QUERY_SCHEDULE_FLOOR)) for count, block in factors]
    mean = math.fsum(weight * value for weight, value in values)
    return Spread(mean, math.fsum(weight * value**2 for weight, value in values), mean**2)


def effective_readout(mixer: MixerSpec) -> Readout:
    """phi with the feature map that only expands the score folded in: taylor2 is 1 + z + z^2 / 2 (equivalence 3)."""
    if mixer.features.map == "taylor2" and mixer.features.norm_keeps_signs:
        return Polynomial(kind="polynomial", coefficients=(1.0, 1.0, 0.5))
    return mixer.readout
