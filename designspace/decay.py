"""The decay part of A_t: granularity, source, gate map, declared and initial range.

Every gate map exposes the range of its value; a declared range narrows or moves it (`hull`).
Source: arXiv 2510.09389, evolution; maps from the papers named beside them.
"""

import math
from typing import Literal, Self

from pydantic import model_validator

from designspace.spec import Range, Spec, check_range, invalid

DecayMap = Literal[
    "fixed",  # a constant schedule over the heads (RetNet, arXiv 2307.08621)
    "exp_softplus",  # exp(-A softplus(x)) (Mamba, arXiv 2312.00752)
    "exp_softplus_tau",  # exp(-tau softplus(x)) with tau = sigmoid of the token (Rodimus, arXiv 2410.06577)
    "exp_exp",  # exp(-exp(x)) (LRU, arXiv 2303.06349; RWKV-6, arXiv 2404.05892)
    "exp",  # exp(x), x of any sign: nothing but the declared range bounds it
    "sigmoid",  # sigmoid(x)
    "sigmoid_tau",  # sigmoid(x)^(1/16) (GLA, arXiv 2312.06635)
    "sigmoid_floor",  # lo + (hi - lo) sigmoid(x) (HGRN, arXiv 2311.04823)
    "exp_lb_sigmoid",  # exp(log(lo) sigmoid(x)) (RWKV-7, arXiv 2503.14456)
    "rglru",  # exp(-8 sigmoid(r) softplus(p)) (Griffin, arXiv 2402.19427)
    "complement",  # 1 - gate (minGRU, arXiv 2410.01201)
    "ratio",  # f / (f + i) (minLSTM, arXiv 2410.01201)
    "one_minus_bk2",  # 1 - b k^2 (Longhorn, arXiv 2407.14207)
]


class Decay(Spec):
    """How a stored key shrinks per step: a_t, one factor per head (scalar) or per key channel (diagonal).

    `range` bounds a_t always; `initial` is where a_t starts over heads, channels and tokens: the ends of the law that
    the reference draws it from, or its 5 % and 95 % quantiles where the catalogue entry says so (always where the law
    is unbounded, sometimes where it is bounded).
    `spacing` says how the heads of a constant decay lie between the ends: evenly in log(1 - a) (RetNet), in the rate
    -log a (TransNormerLLM) or in log(-log a) (Lightning attention).
    With a rotation, a diagonal decay has one value per rotated pair, so that the two commute.
    """

    granularity: Literal["none", "scalar", "diagonal"] = "none"
    source: Literal["constant", "learned", "input"] = "input"
    map: DecayMap = "exp_softplus"
    range: Range = (0.0, 1.0)
    initial: Range | None = None
    spacing: Literal["log_one_minus", "rate", "log_rate"] = "log_one_minus"

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range("range", self.range)
        check_range("initial", self.initial)
        if self.initial is not None and not self._contains(self.initial):
            raise invalid("initial", f"`initial` must lie inside `range` {list(self.range)}, got {list(self.initial)}.")
        if self.granularity != "none":
            self._check_map()
        return self

    def _contains(self, inner: Range) -> bool:
        return self.range[0] <= inner[0] and inner[1] <= self.range[1]

    def _check_map(self) -> None:
        if (self.map == "fixed") != (self.source == "constant"):
            raise invalid("map", f"`map: fixed` and `source: constant` go together, got {self.map} and {self.source}.")
        if self.map == "exp_lb_sigmoid" and self.range[0] <= 0:
            raise invalid("range", "`map: exp_lb_sigmoid` is exp(log(lo) sigmoid(x)): `range` needs lo > 0.")
        low, high = self.constant_range
        if self.source == "constant" and self.spacing != "log_one_minus" and not 0 < low <= high <= 1:
            raise invalid("spacing", f"`spacing: {self.spacing}` needs ends in (0, 1], got [{low:g}, {high:g}].")
        if self.source == "constant" and self.spacing == "log_rate" and high == 1:
            raise invalid("spacing", "`spacing: log_rate` needs ends below 1: the rate of 1 is 0 and has no logarithm.")
        needs_input = self.map in ("complement", "ratio", "one_minus_bk2", "exp_softplus_tau")
        if needs_input and self.source != "input":
            raise invalid("source", f"`map: {self.map}` is computed from the token: use `source: input`.")

    @property
    def is_identity(self) -> bool:
        """a_t = 1: no decay at all."""
        return self.granularity == "none" or (self.source == "constant" and self.constant_range == (1.0, 1.0))

    @property
    def constant_range(self) -> Range:
        """The span of a constant schedule over the heads."""
        return self.initial or self.range

    @property
    def hull(self) -> Range:
        """Bounds of a_t: the declared range, (1, 1) without a decay."""
        if self.granularity == "none":
            return (1.0, 1.0)
        if self.map == "complement":  # a = 1 - gate
            return min(self.range[0], 1.0), min(self.range[1], 1.0)
        return self.constant_range if self.source == "constant" else self.range

    @property
    def initial_range(self) -> Range | None:
        """Where a_t starts; None where nobody declared it."""
        if self.granularity == "none":
            return (1.0, 1.0)
        return self.constant_range if self.source == "constant" else self.initial

    @property
    def reads_input(self) -> bool:
        """a_t depends on the token."""
        return self.granularity != "none" and self.source == "input"


def half_life(factor: float) -> float:
    """Steps until a stored key has lost half its length: ln 2 / -ln a. Infinite at a >= 1, 0 at a = 0."""
    if factor >= 1.0:
        return math.inf
    return math.log(2.0) / -math.log(factor) if factor > 0 else 0.0


def schedule(decay: Decay, num_heads: int) -> tuple[float, ...]:
    """The constant decay of each head over `constant_range`, by `spacing`.

    Evenly spaced in log(1 - a), which is RetNet's 1 - 2^(-5-h) when the range ends at 1 - 2^(-4-num_heads); evenly in a
    when the range touches 1 or leaves [0, 1). In log(-log a): rates in geometric progression, as the slopes of ALiBi.
    """
    low, high = decay.constant_range
    if num_heads == 1:
        return (low,)
    steps = [head / (num_heads - 1) for head in range(num_heads)]
    if decay.spacing == "rate":
        return tuple(low * (high / low) ** step for step in steps)
    if decay.spacing == "log_rate":
        first, last = -math.log(low), -math.log(high)
        return tuple(math.exp(-first * (last / first) ** step) for step in steps)
    return tuple(between((low, high), step) for step in steps)


def between(ends: Range, position: float) -> float:
    """The factor at `position` in [0, 1] between the ends: evenly in log(1 - a), or in a where the range touches 1."""
    low, high = ends
    if high >= 1.0:
        return low + (high - low) * position
    first, last = math.log1p(-low), math.log1p(-high)
    return -math.expm1(first + (last - first) * position)
