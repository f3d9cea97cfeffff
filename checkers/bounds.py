"""What the declared ranges bound: the score z_ij, and the readout of it. Source: theory, P6.

A bound holds for every input and every admissible step; where one factor of it is free (a learned gain, an uncapped
gate, a filter), it is infinite.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.readout import LOG_MAX_FLOAT64, Readout
from designspace.spec import Range

ROUNDING = 1e-12  # relative, of an eigenvalue or a polynomial
GRID_POINTS = 257  # between which the slope of a polynomial changes its sign at most once
BISECTIONS = 60
EVERYTHING: Range = (-math.inf, math.inf)


def score_interval(mixer: MixerSpec, seq_len: int) -> Range:
    """An interval that holds every z_ij up to this length."""
    if mixer.support.read == "before":  # the diagonal has a learned factor of any sign and size
        return EVERYTHING
    written = score_bound(mixer, seq_len)
    reach = written * evolution_bound(mixer) if written > 0.0 else 0.0
    falls, rises = _shear_interval(mixer, seq_len)
    return (0.0 if scores_are_nonnegative(mixer) else -reach) + falls, reach + rises


def own_interval(mixer: MixerSpec, seq_len: int) -> Range:
    """An interval that holds every z_ii, on which nothing of the evolution acts; everything where i reads no z_ii."""
    sees_itself = mixer.support.mask != "strict" and mixer.support.read == "after"
    if not sees_itself or mixer.lift.kind in ("shift", "fenwick") or mixer.shear.source == "table":
        return EVERYTHING
    reach = score_bound(mixer, seq_len)
    return (0.0 if has_no_sign(mixer) else -reach), reach


def score_bound(mixer: MixerSpec, seq_len: int) -> float:
    """Bound of |base gate q . k| before the evolution, with the schedule of the query."""
    product, gate = mixer.product_bound, gate_bound(mixer)
    if gate == 0.0:
        return 0.0
    is_free = mixer.features.norm_has_gain or mixer.scaling.learnable or divides_by_turned_sum(mixer)
    if product is None or is_free:
        return math.inf
    return product * mixer.score_base * gate * mixer.scaling.query_factor(seq_len)


def gate_bound(mixer: MixerSpec) -> float:
    """Largest value of the scaling gate; infinite where nothing bounds it."""
    match mixer.scaling.gate:
        case "two_sigmoid":
            return 2.0
        case "tied_to_erase":
            return mixer.erase.gain[1]
        case "exp" | "exp_key":
            cap = math.inf if mixer.scaling.cap is None else mixer.scaling.cap
            return math.exp(cap) if cap < LOG_MAX_FLOAT64 else math.inf
        case "dt" | "step_power":
            return math.inf
        case "none" | "index" | "sigmoid" | "complement" | "sqrt_1_minus_a2":
            return 1.0


def evolution_bound(mixer: MixerSpec) -> float:
    """Bound of the norm of every product of steps, without the shear."""
    if mixer.decay.hull[1] > 1.0 or mixer.lift.kind in ("momentum", "fenwick", "shift"):
        return math.inf
    if not mixer.erase.is_identity and not is_symmetric_contraction(mixer):
        return math.inf
    return 2.0 if mixer.lift.kind == "delay1" else 1.0  # the previous key enters with the rest of the gate


def is_symmetric_contraction(mixer: MixerSpec) -> bool:
    """The erase step is symmetric with eigenvalues in [-1, 1], so that products of steps contract."""
    length = erase_key_bound(mixer)
    additive = mixer.erase.compose == "additive"
    turned = additive and not mixer.rotation.is_identity
    if length is None or turned or has_a_gain_per_channel(mixer):
        return False
    kept = mixer.decay.hull[0] if additive else 1.0
    return kept - mixer.erase.gain[1] * length >= -1.0 - ROUNDING


def has_a_gain_per_channel(mixer: MixerSpec) -> bool:
    """beta is a vector whose entries can differ, so that I - k (beta * k)^T is not symmetric."""
    return mixer.erase.per_channel and mixer.erase.gain[0] < mixer.erase.gain[1]


def erase_key_bound(mixer: MixerSpec) -> float | None:
    """Bound of |k|^2 that an erase sees; None where nothing bounds it."""
    if mixer.erase.direction == "free":
        return 1.0
    return None if divides_by_turned_sum(mixer) else mixer.key_norm_bound


def divides_by_turned_sum(mixer: MixerSpec) -> bool:
    """A sum norm behind a rotation divides by a sum that can cross zero."""
    features = mixer.features
    return features.norm == "sum" and features.norm_order == "after_rotation" and not mixer.rotation.is_identity


def scores_are_nonnegative(mixer: MixerSpec) -> bool:
    """No score is negative before the shear: features without a sign under steps that only scale each channel.

    taylor2 holds channels of either sign, so a decay per channel turns the sign of 1 + z + z^2 / 2.
    """
    still = mixer.rotation.is_identity and mixer.erase.is_identity and mixer.lift.kind != "shift"
    apart = mixer.features.map == "taylor2" and mixer.decay.granularity == "diagonal"
    return still and not apart and has_no_sign(mixer)


def has_no_sign(mixer: MixerSpec) -> bool:
    """q . k >= 0 at lag 0, whatever the tokens."""
    features = mixer.features
    positive = features.is_nonnegative or (features.map == "taylor2" and features.norm_keeps_signs)
    return positive and not divides_by_turned_sum(mixer)


def _shear_interval(mixer: MixerSpec, seq_len: int) -> Range:
    """An interval that holds every additive part of a score."""
    shear = mixer.shear
    match shear.source:
        case "none":
            return 0.0, 0.0
        case "table":
            return EVERYTHING
        case "input":
            return (0.0, math.inf) if shear.sign == "increasing" else (-math.inf, 0.0)
        case "constant":
            sign = 1.0 if shear.sign == "increasing" else -1.0
            reach = sign * (seq_len - 1) * (mixer.score_base if shear.scaled else 1.0)
            ends = [slope * reach for slope in shear.head_slopes(mixer.heads.num_heads)]
            return min(0.0, *ends), max(0.0, *ends)


@lru_cache(4096)
def lowest_value(readout: Readout, interval: Range) -> float:
    """inf phi over an interval of scores; 0 or more where phi cannot be negative there."""
    low, high = readout.capped(interval[0]), readout.capped(interval[1])
    coefficients = readouts.polynomial_coefficients(readout.model_copy(update={"softcap": None}))
    if coefficients is not None:
        return _lowest_of_polynomial(coefficients, low, high)
    return 0.0 if low == -math.inf else readout.raw(low)  # exp, sigmoid, softplus and relu rise


def _lowest_of_polynomial(coefficients: tuple[float, ...], low: float, high: float) -> float:
    """Minimum over [low, high]: at an end, or where the slope turns from falling to rising."""
    degree = max(power for power, value in enumerate(coefficients) if value)
    slopes = tuple(power * coefficients[power] for power in range(1, degree + 1))
    turns = 1.0 + max(abs(slope / slopes[-1]) for slope in slopes)  # beyond Cauchy's bound of its roots
    start, end = max(low, -turns), min(high, turns)
    grid = [start + (end - start) * index / (GRID_POINTS - 1) for index in range(GRID_POINTS)]
    falling = [
        (left, right) for left, right in pairwise(grid) if _polynomial(slopes, left) < 0 <= _polynomial(slopes, right)
    ]
    points = [low, high, *(_turn(slopes, left, right) for left, right in falling)]
    return min(_value(coefficients, degree, point) for point in points)


def _turn(slopes: tuple[float, ...], left: float, right: float) -> float:
    """Where the slope, negative at `left` and not at `right`, crosses zero."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (left + right)
        left, right = (middle, right) if _polynomial(slopes, middle) < 0 else (left, middle)
    return right


def _value(coefficients: tuple[float, ...], degree: int, point: float) -> float:
    """The polynomial at a point or in the limit."""
    if math.isfinite(point):
        value, size = _polynomial(coefficients, point), _polynomial([abs(one) for one in coefficients], abs(point))
        return value if abs(value) > ROUNDING * size else 0.0  # a double zero is one, whatever rounding makes of it
    rises = coefficients[degree] > 0
    return math.inf if rises == (point > 0 or degree % 2 == 0) else -math.inf


def _polynomial(coefficients: Sequence[float], x: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value
