"""Where gates and decays start: means and squares over heads, key channels and tokens, as the compiled mixer sets them.

A grid lays the heads (and channels of a diagonal decay) evenly over the declared range, log-uniform in a gate and in
1 - a; the tokens add normal noise to the pre-activation: the part of its interval that the grid leaves, at most 1.
Nothing declared: bias 0, noise 1. `workers.initial` and `workers.gates` do the same with tensors.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, assert_never

from checkers.quadrature import COARSE, SPARSE, Moments, Spread, weighted_moments
from designspace.decay import Decay, between, schedule
from designspace.mixer import MixerSpec
from designspace.scaling import DT_INITIAL, Gate, Scaling
from designspace.spec import Range
from designspace.streams import decay_slots, shares_step, stream_counts

SIGMOID_ROOT = 16.0  # sigmoid(x)^(1/16), arXiv 2312.06635
RGLRU_POWER = 8.0  # a = exp(-8 r softplus(p)), arXiv 2402.19427
TOKEN_SHARE = 0.1  # of the interval of pre-activations: least standard deviation that the tokens add
NORMAL_90 = 1.645  # half of the central 90 % of a standard normal: what a single value leaves to the tokens
INSIDE = 1e-6  # relative distance that a start keeps from the ends of an open range
MOST = 16  # points of a grid; more of them lie between these
MAX_EXPONENT = 300.0
TINY = 1e-300
UNIT_SOFTPLUS = 0.5413248546129181  # softplus of it is 1: where the levels of a Fenwick lift start
STILL = ((0.0, 1.0),)  # the one node of what no token moves


class Draw(NamedTuple):
    """What a token makes of a decay, with the weight that such tokens have.

    `step`: softplus(x)^tau of `gate: step_power` (Rodimus), 1 elsewhere.
    """

    weight: float
    factor: float
    step: float = 1.0


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x))."""
    return 0.5 * (1.0 + math.tanh(0.5 * x))


def softplus(x: float) -> float:
    """log(1 + exp(x))."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def complement(factor: float) -> float:
    """1 - a."""
    return 1.0 - factor


def sqrt_complement(factor: float) -> float:
    """sqrt(1 - a^2), 0 beyond a = 1."""
    return math.sqrt(max(1.0 - factor * factor, 0.0))


def over_heads(heads: Iterable[Moments]) -> Spread:
    """The spread of what has these moments over the tokens of each head."""
    found = tuple(heads)
    count = len(found)
    mean, square = (math.fsum(values) / count for values in zip(*found, strict=True))
    return Spread(mean, square, math.fsum(one.mean**2 for one in found) / count)


def grid(points: int) -> tuple[float, ...]:
    """Midpoints of equal cells of (0, 1)."""
    count = min(points, MOST)
    return tuple((index + 0.5) / count for index in range(count))


def noisy(value: Callable[[float], float], start: float, noise: float) -> Moments:
    """Moments of value(x), x ~ N(start, noise^2)."""
    if noise == 0.0:
        return Moments(value(start), value(start) ** 2)
    return weighted_moments((weight, value(start + noise * x)) for x, weight in COARSE)


def inside(value: float) -> float:
    """`value` within the open interval (0, 1)."""
    return min(max(value, INSIDE), 1.0 - INSIDE)


def logit(fraction: float) -> float:
    """log(p / (1 - p))."""
    return math.log(fraction) - math.log1p(-fraction)


def softplus_inverse(value: float) -> float:
    """x with softplus(x) = value > 0."""
    return value + math.log(-math.expm1(-value))


def _token_noise(interval: float, values: int) -> float:
    """Standard deviation that tokens add to the pre-activations of `values` heads and channels over an interval."""
    return min(1.0, abs(interval) * max(TOKEN_SHARE, 0.5 / NORMAL_90 / values))


def _log_span(bounds: Range, position: float) -> float:
    first, last = (math.log(max(one, INSIDE)) for one in bounds)
    return math.exp(first + (last - first) * position)


def gate(mixer: MixerSpec) -> Spread:
    """The scaling gate of a mixer whose gate has a pre-activation of its own."""
    decay, streams = mixer.decay, stream_counts(mixer).value
    acts = decay.granularity != "none"
    if acts and decay.map == "complement":
        return _complement_gate(decay, mixer.scaling, streams)
    starts = gate_starts(mixer.scaling, streams)
    return over_heads(noisy(lambda x: gate_value(mixer.scaling, x), *one) for one in starts)


def gate_starts(scaling: Scaling, streams: int, *, most: int = MOST) -> list[tuple[float, float]]:
    """Start and noise of the pre-activation of each head, of at most `most` heads."""
    initial = scaling.initial or (DT_INITIAL if scaling.gate == "dt" else None)
    if initial is None:
        return [(0.0, 1.0)]
    low, high = (_gate_start(scaling, value) for value in initial)
    noise = _token_noise(high - low, streams)
    return [(_gate_start(scaling, _log_span(initial, position)), noise) for position in grid(min(streams, most))]


def gate_value(scaling: Scaling, x: float) -> float:
    """The gate at its pre-activation.

    Raises:
        ValueError: the gate has none.
    """
    kind: Gate = scaling.gate
    match kind:
        case "sigmoid":
            return sigmoid(x)
        case "two_sigmoid":
            return 2.0 * sigmoid(x)
        case "exp" | "exp_key":
            bounded = x if scaling.cap is None else scaling.cap * math.tanh(x / scaling.cap)
            return math.exp(min(bounded, MAX_EXPONENT))
        case "dt":
            return softplus(x)
        case "none" | "complement" | "sqrt_1_minus_a2" | "tied_to_erase" | "step_power" | "index":
            raise ValueError(f"`scaling.gate: {kind}` has no pre-activation.")
        case _:
            assert_never(kind)


def _gate_start(scaling: Scaling, value: float) -> float:
    """The pre-activation at which the gate takes `value`."""
    positive = max(value, INSIDE)
    match scaling.gate:
        case "sigmoid":
            return logit(inside(positive))
        case "two_sigmoid":
            return logit(inside(0.5 * positive))
        case "dt":
            return softplus_inverse(positive)
        case _:
            cap = scaling.cap
            return (
                math.log(positive)
                if cap is None
                else cap * math.atanh(min(max(math.log(positive) / cap, -0.999), 0.999))
            )


def _complement_gate(decay: Decay, scaling: Scaling, streams: int) -> Spread:
    """The sigmoid gate b with a = 1 - b, squeezed so that a keeps its range (minGRU)."""
    low, high = decay.range[0], min(decay.range[1], 1.0)
    offset, width = (0.0, 1.0) if (low, high) == (0.0, 1.0) else (1.0 - high, high - min(low, high))
    starts = gate_starts(scaling, streams)
    if decay.initial is not None:
        starts = decay_starts(decay, streams)
    return over_heads(noisy(lambda x: offset + width * sigmoid(x), *one) for one in starts)


def of_decay(mixer: MixerSpec, value: Callable[[float], float]) -> Spread:
    """A function of the decay factor, over heads, channels and tokens; `fixed` averages over the channels too.

    Raises:
        ValueError: the factor is computed from the scaling gate.
    """
    decay = mixer.decay
    if decay.source == "constant":
        return over_heads(noisy(value, factor, 0.0) for factor in schedule(decay, mixer.heads.num_heads))
    if reads_gate(mixer):
        raise ValueError(f"the decay ({decay.map}) is computed from the gate ({mixer.scaling.gate}).")
    starts = decay_starts(decay, stream_counts(mixer).value * decay_slots(mixer))
    return over_heads(
        weighted_moments((one.weight, value(one.factor)) for one in draws(mixer, *start)) for start in starts
    )


def draws(mixer: MixerSpec, start: float, noise: float) -> list[Draw]:
    """What tokens make of the decay of one head and channel, from the start and noise of its pre-activation.

    The second pre-activation of `ratio` starts at -x, tau at 0 with unit noise. Of rglru `start` is p, and the noise
    that of r.
    """
    decay = mixer.decay
    nodes = COARSE if noise else STILL
    if decay.map == "rglru":
        return [Draw(weight, factor_at(decay, noise * x, rate=start)) for x, weight in nodes]
    if decay.map in ("ratio", "exp_softplus_tau"):
        return _pair_draws(mixer, start, noise)
    return [Draw(weight, factor_at(decay, start + noise * x)) for x, weight in nodes]


def _pair_draws(mixer: MixerSpec, start: float, noise: float) -> list[Draw]:
    other, spread = (-start, noise) if mixer.decay.map == "ratio" else (0.0, 1.0)
    raises, found = mixer.scaling.gate == "step_power", []
    for x, weight in SPARSE if noise else STILL:
        for y, share in SPARSE if spread else STILL:
            first, second = start + noise * x, other + spread * y
            step = softplus(first) ** sigmoid(second) if raises else 1.0
            found.append(Draw(weight * share, factor_at(mixer.decay, first, other=second), step))
    return found


def reads_gate(mixer: MixerSpec) -> bool:
    """The decay has no pre-activation of its own: it is a function of the scaling gate."""
    return mixer.decay.reads_input and (mixer.decay.map in ("complement", "one_minus_bk2") or shares_step(mixer))


def decay_starts(decay: Decay, points: int) -> list[tuple[float, float]]:
    """Start and noise of the pre-activation of the decay of each head and channel; of rglru, p and the noise of r."""
    tokens = 1.0 if decay.source == "input" else 0.0
    if decay.initial is None:
        return [(0.0, tokens)]
    noise = tokens * token_std(decay, points)
    return [(preactivation(decay, between(decay.initial, position)), noise) for position in grid(points)]


def token_std(decay: Decay, values: int) -> float:
    """Standard deviation that the tokens add to the pre-activation of a decay with `values` heads and channels."""
    if decay.initial is None or decay.map == "rglru":
        return 1.0
    low, high = (preactivation(decay, factor) for factor in decay.initial)
    return _token_noise(high - low, values)


def factor_at(decay: Decay, x: float, *, rate: float = 0.0, other: float = 0.0) -> float:
    """The factor a at its pre-activation x (that of the gate for `complement`).

    Args:
        rate: p of rglru.
        other: pre-activation of the input gate (`ratio`) or of tau (`exp_softplus_tau`).
    """
    low, high = decay.range
    match decay.map:
        case "sigmoid" | "sigmoid_floor":
            return low + (high - low) * sigmoid(x)
        case "complement":
            return min(low, 1.0) + (min(high, 1.0) - min(low, 1.0)) * sigmoid(-x)
        case "sigmoid_tau":
            return low + (high - low) * math.pow(sigmoid(x), 1.0 / SIGMOID_ROOT)
        case "ratio":
            forget, write = sigmoid(x), sigmoid(other)
            return low + (high - low) * (forget / (forget + write) if forget + write else 0.5)
        case "exp_softplus":
            return max(low, high * math.exp(-softplus(x)))
        case "exp_softplus_tau":
            return max(low, high * math.exp(-softplus(x) * sigmoid(other)))
        case "exp_exp":
            return max(low, high * math.exp(-math.exp(min(x, MAX_EXPONENT))))
        case "exp":
            return min(max(math.exp(min(x, MAX_EXPONENT)), low), high)
        case "exp_lb_sigmoid":
            return high * math.pow(low / high, sigmoid(x)) if high else 0.0
        case "rglru":
            return max(low, high * math.exp(-RGLRU_POWER * sigmoid(x) * softplus(rate)))
        case "fixed" | "one_minus_bk2":
            raise ValueError(f"`decay.map: {decay.map}` is not a map of its own pre-activation.")
        case _:
            assert_never(decay.map)


def preactivation(decay: Decay, factor: float) -> float:
    """The x at which the map gives `factor`; of rglru its p at r = 1/2, of `complement` the x of the gate."""
    low, high = decay.range
    if low == high or high == 0.0:
        return 0.0
    fraction = inside((factor - low) / (high - low))
    relative = inside(max(factor / high, low / high))
    match decay.map:
        case "sigmoid" | "sigmoid_floor" | "ratio":
            return logit(fraction)
        case "complement":
            return -logit(fraction)
        case "sigmoid_tau":
            return logit(max(math.pow(fraction, SIGMOID_ROOT), TINY))
        case "exp_softplus":
            return softplus_inverse(-math.log(relative))
        case "exp_softplus_tau":
            return softplus_inverse(-2.0 * math.log(relative))
        case "exp_exp":
            return math.log(-math.log(relative))
        case "exp":
            return math.log(max(factor, INSIDE))
        case "exp_lb_sigmoid":
            return logit(inside(math.log(relative) / math.log(low / high)))
        case "rglru":
            return softplus_inverse(-2.0 / RGLRU_POWER * math.log(relative))
        case "fixed" | "one_minus_bk2":
            raise ValueError(f"`decay.map: {decay.map}` has no pre-activation of its own.")
        case _:
            assert_never(decay.map)


def step_power(mixer: MixerSpec) -> Spread:
    """softplus(x)^tau of each key channel, with the x and tau of the decay (Rodimus)."""
    starts = decay_starts(mixer.decay, stream_counts(mixer).value * decay_slots(mixer))
    return over_heads(weighted_moments((one.weight, one.step) for one in draws(mixer, *start)) for start in starts)


@lru_cache(1024)
def erase_gain(bounds: Range) -> Spread:
    """An erase gain lo + (hi - lo) sigmoid(x) whose pre-activation starts as N(0, 1)."""
    low, high = bounds
    return over_heads([noisy(lambda x: low + (high - low) * sigmoid(x), 0.0, 1.0)])


UNBIASED = erase_gain((0.0, 1.0))  # a sigmoid gate whose pre-activation starts as N(0, 1)
LEVEL = over_heads([noisy(lambda x: softplus(x + UNIT_SOFTPLUS), 0.0, 1.0)])  # the weight of a Fenwick level


def longhorn_gates(mixer: MixerSpec) -> list[list[tuple[float, float]]]:
    """(weight, g) over the tokens of each head, of the gate g that Longhorn writes g / (1 + g |k|^2) with.

    It starts where 1 - b k^2 has its declared value at the mean square of k.
    """
    scaling, decay, streams = mixer.scaling, mixer.decay, stream_counts(mixer).value
    starts = gate_starts(scaling, streams)
    if decay.initial is not None:
        noise = starts[0][1]
        starts = [(_longhorn_start(mixer, between(decay.initial, one)), noise) for one in grid(streams)]
    return [[(w, gate_value(scaling, start + noise * z)) for z, w in SPARSE] for start, noise in starts]


def _longhorn_start(mixer: MixerSpec, factor: float) -> float:
    features, width, bound = mixer.features, mixer.key_dim, mixer.key_norm_bound
    together = width * (mixer.heads.groups if features.norm_over == "all_heads" else 1)
    square = features.k_std**2 if bound is None else bound / together
    write = max((1.0 - factor) / square, INSIDE)
    room = max(1.0 - write * square * width, INSIDE)
    return logit(inside(write / room))
