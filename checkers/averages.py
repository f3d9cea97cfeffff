"""E phi(z) and E phi(z)^2 of a readout for normal scores z."""

import math
from collections.abc import Callable
from functools import lru_cache

from checkers.quadrature import Nodes
from designspace import readout as readouts
from designspace.readout import Exponential, Readout, Relu

Average = Callable[[float, float], tuple[float, float]]  # of the mean and the variance of z
FADED = 1.0e-9  # of a score variance that no longer counts
LARGEST_EXPONENT = 340.0  # its square is still a finite float
LARGEST_SCORE = 1e30  # the square of its fourth power too
LARGEST_VARIANCE = LARGEST_SCORE * LARGEST_SCORE
STEP = 0.75
ANGLES = 16
ROOT_2, ROOT_2PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)
EVEN: Nodes = tuple((STEP * x, STEP * math.exp(-0.5 * (STEP * x) ** 2) / ROOT_2PI) for x in range(-5, 6))
FAR, NEAR = math.sqrt(5.0 + math.sqrt(10.0)), math.sqrt(5.0 - math.sqrt(10.0))  # Gauss-Hermite of five nodes
OUTER, INNER = (7.0 - 2.0 * math.sqrt(10.0)) / 60.0, (7.0 + 2.0 * math.sqrt(10.0)) / 60.0
FEW: Nodes = ((-FAR, OUTER), (-NEAR, INNER), (0.0, 8.0 / 15.0), (NEAR, INNER), (FAR, OUTER))
SMOOTH = 1.0  # variance of scores up to which five nodes are exact to 1 %, which is more than `EVEN` is


def average(readout: Readout) -> Average:
    """The function that gives E phi(z) and E phi(z)^2, in closed form for exponentials and powers of a relu."""
    if not readout.is_capped:
        match readout:
            case Exponential():
                return _exponential
            case Relu(power=1):
                return _bounded(readout, _relu)
            case Relu():
                return _bounded(readout, _squared_relu)
    return _bounded(readout, _summed(readout))


def over_angles(readout: Readout, width: int) -> Average:
    """The same where z is a length times the cosine of two random directions of `width` channels, about its mean."""
    return _bounded(readout, _summed(readout, _cosines(width)))


@lru_cache(16)
def _cosines(width: int) -> Nodes:
    """Cosines of directions of `width` channels, with mean square 1; their density is sin^(width - 2) of the angle."""
    if width == 1:
        return ((-1.0, 0.5), (1.0, 0.5))
    angles = [math.pi * (index + 0.5) / ANGLES for index in range(ANGLES)]
    weights = [math.sin(angle) ** (width - 2) for angle in angles]
    total, root = math.fsum(weights), math.sqrt(width)
    return tuple((root * math.cos(angle), weight / total) for angle, weight in zip(angles, weights, strict=True))


def _exponential(mean: float, variance: float) -> tuple[float, float]:
    """A lognormal; held at the largest exponents where it overflows."""
    mean = min(max(mean, -LARGEST_SCORE), LARGEST_SCORE)
    first, second = min(mean + 0.5 * variance, 0.5 * LARGEST_EXPONENT), min(2.0 * (mean + variance), LARGEST_EXPONENT)
    return math.exp(first), math.exp(second)


def _bounded(readout: Readout, formula: Average) -> Average:
    """The formula within the range in which it is finite, and phi itself where z hardly varies."""

    def bounded(mean: float, variance: float) -> tuple[float, float]:
        if not -LARGEST_SCORE < mean < LARGEST_SCORE:
            mean = min(max(mean, -LARGEST_SCORE), LARGEST_SCORE)
        if variance <= FADED * mean * mean or variance <= FADED * FADED:
            found = readouts.value(readout, mean)
            return found, found * found
        return formula(mean, variance if variance < LARGEST_VARIANCE else LARGEST_VARIANCE)

    return bounded


def _summed(readout: Readout, nodes: Nodes | None = None) -> Average:
    """By quadrature: phi between nodes of a wide normal, or under a narrow one; or at the nodes that are given."""
    phi = readouts.function(readout)

    def summed(mean: float, variance: float) -> tuple[float, float]:
        std, first, second = math.sqrt(variance), 0.0, 0.0
        for x, weight in nodes or (FEW if variance <= SMOOTH else EVEN):
            value = phi(mean + std * x)
            first += weight * value
            second += weight * value * value
        return first, second

    return summed


def _relu(mean: float, variance: float) -> tuple[float, float]:
    """Partial moments of a normal: E max(z, 0) and E max(z, 0)^2."""
    std = math.sqrt(variance)
    positive, density = _positive(mean / std), std * _density(mean / std)
    return max(mean * positive + density, 0.0), max((mean * mean + variance) * positive + mean * density, 0.0)


def _squared_relu(mean: float, variance: float) -> tuple[float, float]:
    """Partial moments of a normal: E max(z, 0)^2 and E max(z, 0)^4."""
    std, squared = math.sqrt(variance), mean * mean
    positive, density = _positive(mean / std), std * _density(mean / std)
    second = (squared + variance) * positive + mean * density
    fourth = (squared * (squared + 6.0 * variance) + 3.0 * variance * variance) * positive
    return max(second, 0.0), max(fourth + mean * (squared + 5.0 * variance) * density, 0.0)


def _positive(ratio: float) -> float:
    """P(x > -ratio) for a standard normal x."""
    return 0.5 * math.erfc(-ratio / ROOT_2)


def _density(ratio: float) -> float:
    return math.exp(-0.5 * ratio * ratio) / ROOT_2PI
