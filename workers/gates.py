"""Maps of decays and gates from pre-activations to values, with inverses that place them at initialisation.

Decay maps return log a_t, computed without forming a_t where it is near 1 or 0. Papers: `designspace.decay.DecayMap`.
"""

import math
from typing import assert_never

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from designspace.decay import Decay
from designspace.scaling import Scaling

SIGMOID_ROOT = 16.0  # sigmoid(x)^(1/16), arXiv 2312.06635
RGLRU_POWER = 8.0  # a = exp(-8 r softplus(p)), arXiv 2402.19427
SMALLEST_VARIANCE = 1.0e-12  # below it sqrt(1 - a^2) is held constant: its slope is infinite at a = 1
INSIDE = 1.0e-6  # relative distance that an initial value keeps from the ends of an open range


def log_decay(decay: Decay, x: Tensor, rate: Tensor | None = None, x_input: Tensor | None = None) -> Tensor:
    """log a_t of the pre-activation x (of the scaling gate for `complement`), inside the declared range.

    Args:
        rate: log A of exp_softplus, p of rglru.
        x_input: pre-activation of the input gate (`ratio`) or of tau (`exp_softplus_tau`, 1/2 without).
    """
    low, high = decay.range
    match decay.map:
        case "sigmoid" | "sigmoid_floor":
            return _affine_log(F.logsigmoid(x), low, high)
        case "complement":
            return _affine_log(F.logsigmoid(-x), min(low, 1.0), min(high, 1.0))
        case "sigmoid_tau":
            return _affine_log(F.logsigmoid(x) / SIGMOID_ROOT, low, high)
        case "ratio":
            forget, write = F.logsigmoid(x), F.logsigmoid(x if x_input is None else x_input)
            return _affine_log(forget - torch.logaddexp(forget, write), low, high)
        case "exp_softplus":
            return step_log_decay(decay, F.softplus(x), rate)
        case "exp_softplus_tau":
            power = 0.5 if x_input is None else x_input.sigmoid()
            return _bounded_log(-F.softplus(x) * power, low, high)
        case "exp_exp":
            return _bounded_log(-x.exp(), low, high)
        case "exp":
            return x.clamp(_log(low), _log(high))
        case "exp_lb_sigmoid":
            return _log(high) + math.log(low / high) * x.sigmoid()
        case "rglru":
            speed = RGLRU_POWER * F.softplus(x if rate is None else rate)
            return _bounded_log(-x.sigmoid() * speed, low, high)
        case "fixed" | "one_minus_bk2":
            raise ValueError(f"`decay.map: {decay.map}` is not a map of its own pre-activation.")
        case _:
            assert_never(decay.map)


def step_log_decay(decay: Decay, step: Tensor, rate: Tensor | None) -> Tensor:
    """log a_t = -A dt of exp_softplus, inside the declared range; `rate` is log A."""
    return _bounded_log(-step if rate is None else -step * rate.exp(), *decay.range)


def _affine_log(log_fraction: Tensor, low: float, high: float) -> Tensor:
    """log(lo + (hi - lo) f) from log f <= 0."""
    if high == 0:
        return torch.full_like(log_fraction, -math.inf)
    if low == 0:
        return math.log(high) + log_fraction
    return math.log(high) + torch.log1p((1.0 - low / high) * torch.expm1(log_fraction))


def _bounded_log(log_fraction: Tensor, low: float, high: float) -> Tensor:
    """log of hi * max(lo / hi, f) from log f <= 0."""
    if high == 0:
        return torch.full_like(log_fraction, -math.inf)
    return math.log(high) + log_fraction.clamp(min=_log(low / high))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def decay_preactivation(decay: Decay, a: Tensor) -> Tensor:
    """The x (float64) at which the map gives a; exp_softplus with A = 1, rglru its p at r = 1/2.

    For complement it is the x of the gate, for one_minus_bk2 the caller knows better.
    """
    low, high = decay.range
    if low == high:
        return torch.zeros_like(a)
    fraction = ((a - low) / (high - low)).clamp(INSIDE, 1.0 - INSIDE)
    relative = (a / high).clamp(max(low / high, INSIDE), 1.0 - INSIDE)
    match decay.map:
        case "sigmoid" | "sigmoid_floor" | "ratio":
            return fraction.logit()
        case "complement":
            return -fraction.logit()
        case "sigmoid_tau":
            return fraction.pow(SIGMOID_ROOT).logit()
        case "exp_softplus":
            return softplus_inverse(-relative.log())
        case "exp_softplus_tau":
            return softplus_inverse(-2.0 * relative.log())  # at tau = 1/2
        case "exp_exp":
            return (-relative.log()).log()
        case "exp":
            return a.clamp(min=INSIDE).log()
        case "exp_lb_sigmoid":
            return (relative.log() / math.log(low / high)).clamp(INSIDE, 1.0 - INSIDE).logit()
        case "rglru":
            return softplus_inverse(-2.0 / RGLRU_POWER * relative.log())
        case "fixed" | "one_minus_bk2":
            raise ValueError(f"`decay.map: {decay.map}` has no pre-activation of its own.")
        case _:
            assert_never(decay.map)


def softplus_inverse(value: Tensor) -> Tensor:
    """x with softplus(x) = value > 0."""
    return value + torch.log(-torch.expm1(-value))


def gate(scaling: Scaling, x: Tensor) -> Tensor:
    """The value of an input gate at its pre-activation x."""
    match scaling.gate:
        case "sigmoid":
            return x.sigmoid()
        case "two_sigmoid":
            return 2.0 * x.sigmoid()
        case "exp" | "exp_key":
            return log_gate(scaling, x).exp()
        case "dt":
            return F.softplus(x)
        case "none" | "complement" | "sqrt_1_minus_a2" | "tied_to_erase" | "step_power" | "index":
            raise ValueError(f"`scaling.gate: {scaling.gate}` has no pre-activation.")
        case _:
            assert_never(scaling.gate)


def log_gate(scaling: Scaling, x: Tensor) -> Tensor:
    """log of an exponential gate at its pre-activation x."""
    return x if scaling.cap is None else scaling.cap * torch.tanh(x / scaling.cap)


def gate_preactivation(scaling: Scaling, value: Tensor) -> Tensor:
    """The x (float64) at which the gate takes `value`."""
    positive = value.clamp(min=INSIDE)
    match scaling.gate:
        case "sigmoid":
            return positive.clamp(max=1.0 - INSIDE).logit()
        case "two_sigmoid":
            return (0.5 * positive).clamp(max=1.0 - INSIDE).logit()
        case "exp" | "exp_key":
            cap = scaling.cap
            return positive.log() if cap is None else cap * torch.atanh((positive.log() / cap).clamp(-0.999, 0.999))
        case "dt":
            return softplus_inverse(positive)
        case "none" | "complement" | "sqrt_1_minus_a2" | "tied_to_erase" | "step_power" | "index":
            raise ValueError(f"`scaling.gate: {scaling.gate}` has no pre-activation.")
        case _:
            assert_never(scaling.gate)


def complement(log_a: Tensor) -> Tensor:
    """1 - a."""
    return -torch.expm1(log_a)


def sqrt_complement_of_square(log_a: Tensor) -> Tensor:
    """sqrt(1 - a^2), which keeps the variance of a state driven by unit noise at 1 (LRU, arXiv 2303.06349)."""
    return (-torch.expm1(2.0 * log_a)).clamp(min=SMALLEST_VARIANCE).sqrt()


def spread(streams: int, slots: int) -> Float[Tensor, "streams slots"]:
    """Evenly spaced numbers in (0, 1) in float64: each stream's slots cover the interval, the streams interleave."""
    stream = (torch.arange(streams, dtype=torch.float64) + 0.5) / streams
    return (torch.arange(slots, dtype=torch.float64) + stream[:, None]) / slots


def decay_span(low: float, high: float, position: Tensor) -> Tensor:
    """Decay factors between low and high, log-uniform in 1 - a (evenly in a where the range touches 1)."""
    if high >= 1.0:
        return low + (high - low) * position
    first, last = math.log1p(-low), math.log1p(-high)
    return -torch.expm1(first + (last - first) * position)


def log_span(low: float, high: float, position: Tensor) -> Tensor:
    """Gate values between low and high, log-uniform."""
    first, last = math.log(max(low, INSIDE)), math.log(max(high, INSIDE))
    return (first + (last - first) * position).exp()
