"""Moments of the entries of a query or a key at initialisation, after feature map and norm.

Raw entries start as N(0, std^2), independent over channels given the token (the weights are); a short convolution with
random taps makes the standard deviation of each channel a random number. A norm ties the channels together: its moments
are integrals of E exp(-t Q) over t, exact for any number of channels (E[S^2 / Q] = int E[S^2 exp(-t Q)] dt).
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import mul
from typing import NamedTuple, assert_never

from checkers.quadrature import RULE, Powers, Spread
from designspace.features import MapName, NormName

CACHE = 4096
MAX_STD = 7.0  # of a raw entry behind an exponential: one channel has all of a softmax
MAX_ENTRY = 300.0  # cosh(2 x) is a finite float
LOG_STEP = 0.8  # of the rule for t, in log t: exact to 1e-5, since a spread is a small difference of large moments
LOG_REACH = (-26.0, 12.0)
SLOW = 8  # fewer channels than this leave a tail in t that falls only like a power
NOTHING = 1e-200  # of the other channels: what comes after adds no more
MORE_REACH = 14.0  # for that tail
Nodes = tuple[tuple[float, float], ...]  # (weight, value)
NODE_REACH = (-6.0, 3.0)  # of log |x|; up to 7 where every channel has one standard deviation
SAME_REACH = 2.0
MANY_TAPS = 64  # more of them give every channel one standard deviation, within a tenth
CHANNEL_REACH = 3.6  # of the standard deviation of a convolved channel, in units of taps^-1/2


ENTRY_REACH = 7.0  # standard deviations
EVERY_OTHER = tuple((x, 2.0 * weight) for x, weight in RULE[::2] if abs(x) <= ENTRY_REACH)
NODE_STEP = 0.4  # of the rule in log |x|


class Vector(NamedTuple):
    """Averages over the channels of a vector, over tokens, heads and weights.

    Attributes:
        width: number of channels.
        mean, square: E u and E u^2 of one channel.
        cross: E u w of two channels.
        mirror: E u w of a channel and its mirror image, which some maps make of the same raw entry.
        fixed, fixed_cross: the same of the means over tokens: mean of the squared mean, product of two means.
    """

    width: int
    mean: float
    square: float
    cross: float
    mirror: float
    fixed: float
    fixed_cross: float

    def times(self, factor: float) -> "Vector":
        """The vector times a number."""
        squared = factor * factor
        return Vector(self.width, factor * self.mean, *(squared * one for one in self[2:]))

    def times_independent(self, each: Spread) -> "Vector":
        """Each channel times a number of its own with this spread, whose channels have nearly one mean."""
        shared = each.mean * each.mean
        return Vector(
            self.width,
            self.mean * each.mean,
            self.square * each.square,
            self.cross * shared,
            self.mirror * shared,
            self.fixed * each.fixed,
            self.fixed_cross * shared,
        )


def constant(width: int, value: float = 1.0) -> Vector:
    """All channels hold one number."""
    return Vector(width, value, *((value * value,) * 5))


def drawn_once(one: Vector) -> Vector:
    """The vector is drawn with the weights: no token changes it."""
    return one._replace(fixed=one.square, fixed_cross=one.cross)


class Entry(NamedTuple):
    """One channel after an elementwise map: E f^d, and the mean over channels of (E f)^2 over tokens."""

    powers: Powers
    fixed: float


@lru_cache(CACHE)
def channel_stds(taps: int, step: float = 0.3) -> Nodes:
    """(weight, std) of a channel behind `taps` random taps N(0, 1 / taps): a chi variable; (1, 1) without any."""
    if taps == 0 or taps > MANY_TAPS:
        return ((1.0, 1.0),)
    unit = step / math.sqrt(taps)
    count = math.ceil((1.0 if taps > 1 else 0.0) / unit + CHANNEL_REACH / step)
    stds = [(index + 0.5) * unit for index in range(count)]
    weights = [math.exp((taps - 1) * math.log(one) - 0.5 * taps * (one * one - 1.0)) for one in stds]
    total = math.fsum(weights)
    return tuple((weight / total, one) for weight, one in zip(weights, stds, strict=True))


def silu(x: float) -> float:
    """x sigmoid(x)."""
    return x * 0.5 * (1.0 + math.tanh(0.5 * x))


def elementwise(name: MapName) -> Callable[[float], float]:
    """The map of one raw entry.

    Raises:
        ValueError: the map is not elementwise.
    """
    match name:
        case "identity" | "hadamard":
            return float
        case "silu" | "one_minus_decay":
            return silu
        case "relu" | "relu_zero":
            return lambda x: max(x, 0.0)
        case "elu+1":
            return lambda x: x + 1.0 if x > 0 else math.exp(x)
        case _:
            raise ValueError(f"`{name}` is not an elementwise map of the raw entries.")


@lru_cache(CACHE)
def entry(name: MapName, std: float, taps: int = 0) -> Entry:
    """A channel of an elementwise map whose raw entries have standard deviation `std`, behind `taps` random taps."""
    found = [(weight, _entry(name, std * channel)) for weight, channel in channel_stds(taps)]
    every = Powers(*(math.fsum(weight * one[power] for weight, one in found) for power in range(4)))
    return Entry(every, math.fsum(weight * one.mean**2 for weight, one in found))


def _entry(name: MapName, std: float) -> Powers:
    match name:
        case "identity":
            return Powers(0.0, std**2, 0.0, 3.0 * std**4)
        case "hadamard":  # the second factor starts as N(0, 1)
            return Powers(0.0, std**2, 0.0, 9.0 * std**4)
        case "relu" | "relu_zero":
            half = std / math.sqrt(2.0 * math.pi)
            return Powers(half, 0.5 * std**2, 2.0 * half * std**2, 1.5 * std**4)
        case _:
            function = elementwise(name)
            values = [function(std * x) for x, _ in EVERY_OTHER]
            terms, found = [weight for _, weight in EVERY_OTHER], []
            for _ in Powers._fields:
                terms = list(map(mul, terms, values))
                found.append(math.fsum(terms))
            return Powers(*found)


def independent(width: int, one: Entry) -> Vector:
    """Channels that share nothing but their law."""
    mean = one.powers.mean
    cross = mean * mean
    return Vector(width, mean, one.powers.square, cross, cross, one.fixed, cross)


@lru_cache(CACHE)
def normed(name: MapName, std: float, taps: int, norm: NormName, together: int, width: int) -> Vector | None:
    """A vector of `width` channels behind a norm of `together` channels, scaled to sum of squares (or sum) 1.

    `layernorm` centres it first. None where a sum that crosses zero leaves no second moment.
    """
    one = entry(name, std, taps)
    odd, share = one.powers.mean == 0.0, one.fixed / one.powers.mean**2 if one.powers.mean else 1.0
    some = 1.0 - 0.5**together if name in ("relu", "relu_zero") else 1.0  # probability that a channel is not 0
    if norm == "layernorm":
        return _centred(one, together, width).times(math.sqrt(some))
    if norm == "sum":
        signed = odd or name == "silu"
        return None if signed else _over_sum(_nodes(name, std, taps), together, width, share, some)
    if odd:
        square = 1.0 / together
        return Vector(width, 0.0, square, 0.0, 0.0, 0.0, 0.0)
    return _over_length(_nodes(name, std, taps), together, width, share, some)


def _centred(one: Entry, together: int, width: int) -> Vector:
    """Mean 0 and sum of squares 1: two channels cancel a little."""
    if together == 1:
        return constant(width, 0.0)
    others = 1.0 / (together - 1)
    variance = one.powers.variance
    fixed = (one.fixed - one.powers.mean**2) / variance if variance > 0.0 else 0.0
    found = Vector(width, 0.0, 1.0, -others, -others, fixed, -others * fixed)
    return found.times(together**-0.5)


@lru_cache(CACHE)
def _raw_entries(taps: int) -> Nodes:
    """(weight, x) of a raw entry of unit standard deviation behind `taps` random taps, which is a mixture of normals.

    The trapezoidal rule in log |x|: also exact where a function has a kink at 0.
    """
    low, high = NODE_REACH
    count = math.ceil(((high if taps else SAME_REACH) - low) / NODE_STEP) + 1
    sizes = [math.exp(low + NODE_STEP * index) for index in range(count)]
    stds = [(share / (std * math.sqrt(2.0 * math.pi)), std) for share, std in channel_stds(taps)]
    half = [(NODE_STEP * x * sum(share * math.exp(-0.5 * (x / std) ** 2) for share, std in stds), x) for x in sizes]
    rest = 1.0 - 2.0 * math.fsum(weight for weight, _ in half)
    return (*half, (rest, 0.0), *((weight, -x) for weight, x in half))


def _nodes(name: MapName, std: float, taps: int) -> Nodes:
    function = elementwise(name)
    return tuple((weight, function(std * x)) for weight, x in _raw_entries(taps))


def _over_length(nodes: Nodes, together: int, width: int, share: float, some: float) -> Vector:
    """f / sqrt(Q), Q the sum of squares. `share`: mean over channels of (E f)^2, over (E f)^2."""
    values = [f for _, f in nodes]
    pairs = [(weight, -f * f) for weight, f in nodes]
    scale = -1.0 / (together * math.fsum(w * square for w, square in pairs))
    mean, cross = [], []
    for t in _times(scale, together):
        terms = [w * math.exp(t * square) for w, square in pairs]
        zeroth, first = sum(terms), sum(map(mul, terms, values))
        if zeroth ** (together - 1) < NOTHING:
            break
        mean.append(LOG_STEP * math.sqrt(t / math.pi) * first * zeroth ** (together - 1))
        cross.append(LOG_STEP * t * first * first * zeroth ** (together - 2) if together > 1 else 0.0)
    return _assembled(width, math.fsum(mean), some / together, math.fsum(cross), share)


def _over_sum(nodes: Nodes, together: int, width: int, share: float, some: float) -> Vector:
    """f / S, S the sum of entries that are not negative."""
    squared = [f * f for _, f in nodes]
    pairs = [(weight, -f) for weight, f in nodes]
    scale = -1.0 / (together * math.fsum(w * f for w, f in pairs))
    squares = []
    for t in _times(scale, together):
        terms = [w * math.exp(t * f) for w, f in pairs]
        zeroth, second = sum(terms), sum(map(mul, terms, squared))
        if zeroth ** (together - 1) < NOTHING:
            break
        squares.append(LOG_STEP * t * t * second * zeroth ** (together - 1))
    mean, square = some / together, math.fsum(squares)
    return _assembled(width, mean, square, (mean - square) / (together - 1) if together > 1 else 0.0, share)


def _assembled(width: int, mean: float, square: float, cross: float, share: float) -> Vector:
    return Vector(width, mean, square, cross, cross, mean**2 * share, mean**2)


def _times(scale: float, together: int, more: float = 0.0) -> Iterable[float]:
    """Nodes t of the trapezoidal rule in log t, whose weights are t `LOG_STEP`; `more`: how far typical sums lie below
    the mean one that `scale` is the inverse of, in log.
    """
    low, high = LOG_REACH
    slow = MORE_REACH if together < SLOW else 0.0
    count = math.ceil((high + slow + more - low) / LOG_STEP)
    return [scale * math.exp(low + LOG_STEP * index) for index in range(count + 1)]


@lru_cache(CACHE)
def softmax_pm(std: float, taps: int, norm: NormName, raws: int, together: int) -> Vector:
    """softmax([x, -x]) of `raws` entries, then a norm of `together` of them, scaled to sum of squares 1.

    Entries come in mirror pairs exp(x), exp(-x). A norm after it (but `sum`) divides the softmax out again.
    """
    entries = [(weight, min(min(std, MAX_STD) * x, MAX_ENTRY)) for weight, x in _raw_entries(taps)]
    match norm:
        case "none":
            return _softmax(entries, raws)
        case "sum":  # each head adds up to 1 already
            return _softmax(entries, raws).times(raws / together)
        case "l2" | "rms" | "rms_weighted":
            return _unit_exponentials(entries, raws, together)
        case "layernorm":
            growth = math.exp(min(std, MAX_STD) ** 2)
            mirror, count = -1.0 / growth if together > 1 else -1.0, 2 * together  # a pair alone is +-(1, -1)
            others = (-1.0 - mirror) / (count - 2) if count > 2 else 0.0
            return Vector(2 * raws, 0.0, 1.0, others, mirror, 0.0, 0.0).times(count**-0.5)
        case _:
            assert_never(norm)


def _softmax(entries: list[tuple[float, float]], raws: int) -> Vector:
    width = 2 * raws
    doubles = [math.cosh(2.0 * x) for _, x in entries]
    pairs = [(w, -2.0 * math.cosh(x)) for w, x in entries]
    average = -math.fsum(w * both for w, both in pairs)
    more = math.log(average) - math.fsum(w * math.log(-both) for w, both in pairs)
    square, mirror = [], []
    for t in _times(1.0 / (raws * average), raws, more):
        terms = [w * math.exp(t * both) for w, both in pairs]
        zeroth = sum(terms)
        if zeroth ** (raws - 1) < NOTHING:
            break
        square.append(LOG_STEP * t * t * sum(map(mul, terms, doubles)) * zeroth ** (raws - 1))
        mirror.append(LOG_STEP * t * t * zeroth**raws)
    own, image = math.fsum(square), math.fsum(mirror)
    cross = (1.0 / width - own - image) / (width - 2) if width > 2 else 0.0
    return Vector(width, 1.0 / width, own, cross, image, width**-2.0, width**-2.0)


def _unit_exponentials(entries: list[tuple[float, float]], raws: int, together: int) -> Vector:
    halves = [math.cosh(x) for _, x in entries]
    pairs = [(w, -2.0 * math.cosh(2.0 * x)) for w, x in entries]
    average = -math.fsum(w * squares for w, squares in pairs)
    more = math.log(average) - math.fsum(w * math.log(-squares) for w, squares in pairs)
    mean, mirror, cross = [], [], []
    for t in _times(1.0 / (together * average), together, more):
        terms = [w * math.exp(t * squares) for w, squares in pairs]
        zeroth, first = sum(terms), sum(map(mul, terms, halves))
        if zeroth ** (together - 1) < NOTHING:
            break
        mean.append(LOG_STEP * math.sqrt(t / math.pi) * first * zeroth ** (together - 1))
        mirror.append(LOG_STEP * t * zeroth**together)
        cross.append(LOG_STEP * t * first * first * zeroth ** (together - 2) if together > 1 else 0.0)
    middle = math.fsum(mean)
    squared = middle**2
    return Vector(2 * raws, middle, 0.5 / together, math.fsum(cross), math.fsum(mirror), squared, squared)
