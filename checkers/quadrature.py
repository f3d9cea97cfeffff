"""Expectations and probabilities under a standard normal, by the trapezoidal rule; no numpy, so lint starts fast."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

STEPS_PER_UNIT = 8  # the rule is exact to rounding for smooth functions, to 1e-3 at a kink on a node
REACH = 9  # standard deviations; lets E exp(4 x), whose peak is at x = 4, come out to 1e-6
BISECTIONS = 30  # of a cell: 1e-10 standard deviations
COARSE_STEP = 4  # of every so many nodes; half a standard deviation is exact to 1e-6 for analytic functions
COARSE_REACH = 6  # standard deviations
Point = tuple[float, float]  # x, function(x)
Nodes = tuple[tuple[float, float], ...]  # (x, weight) of a standard normal


class Moments(NamedTuple):
    """E x and E x^2."""

    mean: float
    square: float

    @property
    def rms(self) -> float:
        """Root of the mean square."""
        return math.sqrt(max(self.square, 0.0))

    @property
    def std(self) -> float:
        """Standard deviation."""
        return math.sqrt(max(self.square - self.mean**2, 0.0))

    def times(self, factor: float) -> "Moments":
        """Moments of `factor` x."""
        return Moments(factor * self.mean, factor**2 * self.square)

    def times_independent(self, other: "Moments") -> "Moments":
        """Moments of a product of independent variables."""
        return Moments(self.mean * other.mean, self.square * other.square)


class Spread(NamedTuple):
    """E x and E x^2 over tokens, heads and weights, and `fixed`, the part of E x^2 that no token changes: the mean over
    heads and weights of the squared mean over tokens.
    """

    mean: float
    square: float
    fixed: float

    @property
    def rms(self) -> float:
        """Root of the mean square."""
        return math.sqrt(max(self.square, 0.0))

    @property
    def std(self) -> float:
        """Standard deviation over the tokens of a head, root mean square over heads and weights."""
        return math.sqrt(max(self.square - self.fixed, 0.0))

    @property
    def moments(self) -> Moments:
        """E x and E x^2."""
        return Moments(self.mean, self.square)

    def times(self, factor: float) -> "Spread":
        """The spread of `factor` x."""
        return Spread(factor * self.mean, factor**2 * self.square, factor**2 * self.fixed)

    def times_independent(self, other: "Spread") -> "Spread":
        """The spread of a product of independent variables."""
        return Spread(*(left * right for left, right in zip(self, other, strict=True)))


def constant(value: float) -> Moments:
    """Moments of a constant; infinite, not an error, where the square overflows."""
    return Moments(value, value * value)


class Powers(NamedTuple):
    """E x, E x^2, E x^3 and E x^4."""

    mean: float
    square: float
    cube: float
    fourth: float

    @property
    def variance(self) -> float:
        """Var x."""
        return self.square - self.mean**2

    def times_independent(self, other: "Powers") -> "Powers":
        """Powers of a product of independent variables."""
        return Powers(*(left * right for left, right in zip(self, other, strict=True)))


def _rule() -> tuple[tuple[float, float], ...]:
    """(node, weight) pairs for a standard normal."""
    nodes = [index / STEPS_PER_UNIT for index in range(-REACH * STEPS_PER_UNIT, REACH * STEPS_PER_UNIT + 1)]
    scale = 1.0 / (STEPS_PER_UNIT * math.sqrt(2.0 * math.pi))
    return tuple((x, scale * math.exp(-0.5 * x * x)) for x in nodes)


def _thinned(step: int) -> tuple[tuple[float, float], ...]:
    """Every so many nodes of the rule, whose weights add up to 1."""
    found = [(x, weight) for x, weight in RULE[::step] if abs(x) <= COARSE_REACH]
    total = math.fsum(weight for _, weight in found)
    return tuple((x, weight / total) for x, weight in found)


RULE = _rule()
COARSE, SPARSE = _thinned(COARSE_STEP), _thinned(2 * COARSE_STEP)  # SPARSE: for each of two variables


def expectation(function: Callable[[float], float]) -> float:
    """E function(x) for x ~ N(0, 1)."""
    return math.fsum(weight * function(x) for x, weight in RULE)


def moments(function: Callable[[float], float]) -> Moments:
    """E f(x) and E f(x)^2 for x ~ N(0, 1)."""
    return weighted_moments((weight, function(x)) for x, weight in RULE)


def weighted_moments(values: Iterable[tuple[float, float]]) -> Moments:
    """E x and E x^2 of (weight, x)."""
    found = list(values)
    return Moments(math.fsum(w * x for w, x in found), math.fsum(w * x * x for w, x in found))


def powers(function: Callable[[float], float]) -> Powers:
    """E f(x)^d for d = 1..4 and x ~ N(0, 1)."""
    values = [(weight, function(x)) for x, weight in RULE]
    return Powers(*(math.fsum(w * f**d for w, f in values) for d in (1, 2, 3, 4)))


def normal_probability(low: float, high: float) -> float:
    """P(low < x < high) for x ~ N(0, 1)."""
    return 0.5 * (math.erf(high / math.sqrt(2.0)) - math.erf(low / math.sqrt(2.0)))


def nearly_zero(function: Callable[[float], float], part: float) -> float:
    """P(|function(x)| <= part E|function(x)|) for x ~ N(0, 1): each cell of the grid is split where it crosses that."""
    points = [(x, function(x)) for x, _ in RULE]
    level = part * math.fsum(weight * abs(value) for (_, weight), (_, value) in zip(RULE, points, strict=True))
    return _below(function, level, points)


def _below(function: Callable[[float], float], level: float, points: Sequence[Point]) -> float:
    inside = [abs(value) <= level for _, value in points]
    shares = []
    for index, (left, right) in enumerate(pairwise(points)):
        if inside[index] and inside[index + 1]:
            shares.append(CELLS[index])
        elif inside[index] or inside[index + 1] or (left[1] < 0) != (right[1] < 0):
            shares.append(_share(function, level, left, right))
    for first, middle, last in zip(points, points[1:], points[2:], strict=False):
        if _may_dip(level, first[1], middle[1], last[1]):
            shares.append(_dip(function, level, first[0], last[0]))
    return math.fsum(shares)


def _may_dip(level: float, first: float, middle: float, last: float) -> bool:
    """|function| has a minimum about the middle node, and is beyond the level, without a zero, at all three."""
    before, here, after = abs(first), abs(middle), abs(last)
    return level < here < before and here <= after and (first < 0) == (middle < 0) == (last < 0)


def _dip(function: Callable[[float], float], level: float, low: float, high: float) -> float:
    """P(|function(x)| <= level) about the one minimum in [low, high]."""
    left, right = low, high
    for _ in range(BISECTIONS):
        third = (right - left) / 3.0
        if abs(function(left + third)) < abs(function(right - third)):
            right -= third
        else:
            left += third
    least = 0.5 * (left + right)
    if abs(function(least)) > level:
        return 0.0
    first = _crossing(lambda x: abs(function(x)) > level, low, least)
    return normal_probability(first, _crossing(lambda x: abs(function(x)) <= level, least, high))


CELLS = tuple(normal_probability(left, right) for (left, _), (right, _) in pairwise(RULE))


def _share(function: Callable[[float], float], level: float, left: Point, right: Point) -> float:
    """P(|function(x)| <= level and x in the cell), for at most one crossing in each half of the cell."""
    inside_left, inside_right = abs(left[1]) <= level, abs(right[1]) <= level
    if inside_left and inside_right:
        return normal_probability(left[0], right[0])
    if not inside_left and not inside_right:
        negative = left[1] < 0
        if negative == (right[1] < 0):
            return 0.0
        zero = _crossing(lambda x: (function(x) < 0) == negative, left[0], right[0])
        return _share(function, level, left, (zero, 0.0)) + _share(function, level, (zero, 0.0), right)
    edge = _crossing(lambda x: (abs(function(x)) <= level) == inside_left, left[0], right[0])
    return normal_probability(left[0], edge) if inside_left else normal_probability(edge, right[0])


def _crossing(holds: Callable[[float], bool], left: float, right: float) -> float:
    """The point of [left, right] where `holds`, true at the left end, turns false."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (left + right)
        if holds(middle):
            left = middle
        else:
            right = middle
    return 0.5 * (left + right)
