"""A bounded search for periodic inputs under which a product of admissible transitions grows. Source: theory, P6.2.

Each step may be a contraction by its spectral radius and the product still grow: with two keys in a plane and a gain
per channel, I - k1 (g1 * k1)^T and I - k2 (g2 * k2)^T reach the radius 1.25 over two steps.
"""

import cmath
import math
from functools import lru_cache
from typing import NamedTuple

from checkers.bounds import erase_key_bound
from designspace.mixer import MixerSpec
from designspace.spec import Range

DIRECTIONS = 90  # of the first key over a half turn; the second key is its mirror image
LEVELS = 3  # of each gate of the momentum block: the largest radius lies at ends of the ranges
TURNS = (0.5 * math.pi, math.pi)  # of an angle that the token or the training sets
CERTAIN = 1e-9  # growth that is no rounding

Matrix = tuple[float, float, float, float]  # a 2 x 2 matrix by rows


class Plane(NamedTuple):
    """What a step may do to two channels: the gains of the stronger and the weaker one (equal unless the gain is per
    channel), length of a key, factor of the decay, angle, and the form.
    """

    strong: float
    weak: float
    length: float
    kept: float
    angle: float
    additive: bool


class Growth(NamedTuple):
    """Largest spectral radius found over one step (a constant input) and over two."""

    per_step: float
    per_period: float

    @property
    def is_certain(self) -> bool:
        """Some periodic input grows."""
        return self.per_period > 1.0 + CERTAIN


def largest_growth(mixer: MixerSpec) -> Growth:
    """The spectral radii found over the products of at most two admissible steps."""
    square, kept = erase_key_bound(mixer) or 1.0, mixer.decay.hull[1]  # keys without a bound: of unit length
    if mixer.lift.kind == "momentum":
        return _momentum(mixer.erase.gain[1] * square, kept)
    additive = mixer.erase.compose == "additive"
    weak, strong = mixer.erase.gain if mixer.erase.per_channel else (mixer.erase.gain[1],) * 2
    planes = [Plane(strong, weak, math.sqrt(square), kept, angle, additive) for angle in _angles(mixer)]
    found = [_mirrored_pairs(plane) for plane in planes]
    return Growth(max(one.per_step for one in found), max(one.per_period for one in found))


def _angles(mixer: MixerSpec) -> tuple[float, ...]:
    """Angles per step that some pair of channels may take; 0 stands for two channels that do not rotate."""
    rotation = mixer.rotation
    if rotation.is_identity:
        return (0.0,)
    if rotation.source == "constant":
        return (0.0, max(rotation.angles(mixer.key_dim)))
    return (0.0, *TURNS)


@lru_cache(1024)
def _mirrored_pairs(plane: Plane) -> Growth:
    per_step = per_period = 0.0
    for index in range(DIRECTIONS):
        angle = math.pi * index / DIRECTIONS
        x, y = plane.length * math.cos(angle), plane.length * math.sin(angle)
        first = _step(plane, x, y, (plane.strong, plane.weak))
        second = _step(plane, y, x, (plane.weak, plane.strong))
        per_step = max(per_step, radius(first))
        per_period = max(per_period, radius(times(second, first)), radius(first) ** 2)
    return Growth(per_step, per_period)


def _step(plane: Plane, x: float, y: float, gain: Range) -> Matrix:
    """(I - k (g * k)^T) R a for the product form, R a - (g * k) k^T for the additive, in two channels."""
    cosine, sine = plane.kept * math.cos(plane.angle), plane.kept * math.sin(plane.angle)
    turned = (cosine, sine, -sine, cosine)
    if plane.additive:
        first, second, third, fourth = turned
        return (first - gain[0] * x * x, second - gain[0] * x * y, third - gain[1] * x * y, fourth - gain[1] * y * y)
    return times((1.0 - gain[0] * x * x, -gain[1] * x * y, -gain[0] * x * y, 1.0 - gain[1] * y * y), turned)


@lru_cache(1024)
def _momentum(gain: float, kept: float) -> Growth:
    """Heavy ball on one key: [[a - beta eta, -beta mu], [eta, mu]] with beta, eta, mu on a grid; one and two steps."""
    levels = [index / (LEVELS - 1) for index in range(LEVELS)]
    steps = [
        (kept - gain * beta * rate, -gain * beta * mu, rate, mu) for beta in levels for rate in levels for mu in levels
    ]
    per_period = max(radius(times(second, first)) for first in steps for second in steps)
    return Growth(max(radius(step) for step in steps), per_period)


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
