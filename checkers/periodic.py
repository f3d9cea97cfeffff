"""A bounded search for periodic inputs under which a product of admissible transitions grows. Source: theory, P6.2.

Each step may be a contraction by its spectral radius and the product still grow: with two keys in a plane and a gain
per channel, I - k1 (g1 * k1)^T and I - k2 (g2 * k2)^T reach the radius 1.25 over two steps.
"""

import cmath
import math
from functools import lru_cache

from designspace.mixer import MixerSpec
from designspace.spec import Range

ANGLES = 90  # of the first key over a half turn; the second key is its mirror image
LEVELS = 5  # of each gate of the momentum block

Matrix = tuple[float, float, float, float]  # a 2 x 2 matrix by rows


def growth_per_period(mixer: MixerSpec) -> float:
    """Largest spectral radius found over the products of at most two admissible steps."""
    if mixer.lift.kind == "momentum":
        return _momentum(mixer.erase.gain[1], mixer.decay.hull[1])
    length = 1.0 if mixer.erase.direction == "free" else mixer.key_norm_bound or 1.0
    additive = mixer.erase.compose == "additive"
    return _mirrored_pairs(mixer.erase.gain, math.sqrt(length), mixer.decay.hull[1], additive)


@lru_cache(1024)
def _mirrored_pairs(gain: Range, length: float, kept: float, additive: bool) -> float:
    best = 0.0
    for index in range(ANGLES):
        angle = math.pi * index / ANGLES
        x, y = length * math.cos(angle), length * math.sin(angle)
        first = _step(x, y, (gain[1], gain[0]), kept, additive)
        second = _step(y, x, (gain[0], gain[1]), kept, additive)
        best = max(best, radius(times(second, first)), math.sqrt(radius(times(first, first))))
    return best


def _step(x: float, y: float, gain: Range, kept: float, additive: bool) -> Matrix:
    """(I - k (g * k)^T) a for the product form, a I - (g * k) k^T for the additive, in two channels."""
    if additive:
        return (kept - gain[0] * x * x, -gain[0] * x * y, -gain[1] * x * y, kept - gain[1] * y * y)
    return (
        kept * (1.0 - gain[0] * x * x),
        -kept * gain[1] * x * y,
        -kept * gain[0] * x * y,
        kept * (1.0 - gain[1] * y * y),
    )


@lru_cache(1024)
def _momentum(gain: float, kept: float) -> float:
    """Heavy ball on one key: [[a - beta eta, -beta mu], [eta, mu]] with beta, eta, mu on a grid; one and two steps."""
    levels = [index / (LEVELS - 1) for index in range(LEVELS)]
    steps = [
        (kept - gain * beta * rate, -gain * beta * mu, rate, mu) for beta in levels for rate in levels for mu in levels
    ]
    return max(radius(times(second, first)) for first in steps for second in steps)


def times(left: Matrix, right: Matrix) -> Matrix:
    """The product of two 2 x 2 matrices."""
    a, b, c, d = left
    e, f, g, h = right
    return (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)


def radius(matrix: Matrix) -> float:
    """Spectral radius of a 2 x 2 matrix."""
    a, b, c, d = matrix
    half, root = 0.5 * (a + d), cmath.sqrt(0.25 * (a - d) ** 2 + b * c)
    return max(abs(half + root), abs(half - root))
