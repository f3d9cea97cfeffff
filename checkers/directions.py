"""Queries and keys as directions: what all tokens have in common, and what is left across it.

For the erase of a delta rule, and for what the scores of one row share.
"""

import math
from dataclasses import dataclass

from checkers import projections
from checkers.vectors import Vector
from designspace.features import MapName, Side
from designspace.mixer import MixerSpec
from designspace.recent import recent

FIXED_LENGTH = ("l2", "rms", "rms_weighted", "layernorm")


@dataclass(frozen=True, slots=True)
class Directed:
    """A random query or key of `width` entries.

    Attributes:
        width: entries that are not 0 by construction.
        mean: of an entry, with the sign of the products of two entries.
        variance: of an entry about it.
        scatter: variance of the squared length over the square of its mean.
        frozen: one vector for all tokens.
        on_line: all tokens have multiples of one vector.
        rank: channels that the vectors span; 0 for all of them.
    """

    width: int
    mean: float
    variance: float
    scatter: float
    frozen: bool = False
    on_line: bool = False
    rank: int = 0

    @property
    def square(self) -> float:
        """E x^2 of an entry."""
        return self.variance + self.mean**2

    def along(self) -> tuple[float, float, float, float]:
        """E c^d, d = 1..4, of the component c along the common direction."""
        if self.on_line or self.frozen:
            square = self.width * self.square
            root, fourth = math.sqrt(square), square**2 * (1.0 + self.scatter)
            return (root, square, root**3, fourth) if self.frozen else (0.0, square, 0.0, fourth)
        mean, variance = math.sqrt(self.width) * self.mean, self.variance
        return (
            mean,
            mean**2 + variance,
            mean**3 + 3.0 * mean * variance,
            mean**4 + 6.0 * mean**2 * variance + 3.0 * variance**2,
        )

    def across(self) -> tuple[float, float, float, float]:
        """With r^2 the squared length of the rest: E r^2, E r^4, E c r^2, E c^2 r^2."""
        if self.on_line or self.frozen or self.width < 2:
            return 0.0, 0.0, 0.0, 0.0
        first, second, third, fourth = self.along()
        total = self.width * self.square
        rest = max(total - second, 0.0)
        if self.scatter == 0.0:  # of a fixed length, so that what is along is not across
            return (
                rest,
                max(total**2 - 2.0 * total * second + fourth, 0.0),
                total * first - third,
                total * second - fourth,
            )
        mixed = min(second * rest, total**2)
        whole = total**2 * (1.0 + self.scatter)
        return rest, max(whole - 2.0 * mixed - fourth, rest**2), first * rest, mixed


def query(mixer: MixerSpec) -> Directed | None:
    """The queries; None where their scale is not derived."""
    return _directed(mixer, "q")


def key(mixer: MixerSpec) -> Directed | None:
    """The keys; None where their scale is not derived."""
    return _directed(mixer, "k")


@recent
def _directed(mixer: MixerSpec, side: Side) -> Directed | None:
    features, heads = mixer.features, mixer.heads
    if features.map in ("taylor2", "favor", "rff") or projections.underived(mixer) is not None:
        return None
    if features.map == "dpfp":
        return _dpfp(mixer, side)
    found = projections.query_vector(mixer) if side == "q" else projections.key_vector(mixer)
    if found is None:
        return None
    scatter = _scatter(mixer, side, found)
    if features.map in ("static", "scaled_static"):
        on_line = features.map == "scaled_static"
        return Directed(found.width, 0.0, found.square, scatter, frozen=not on_line, on_line=on_line)
    rank = 0
    if heads.latent_dim is not None and side == "k":
        rank = min(found.width, heads.latent_dim + heads.shared_key_dim)
    mean = math.copysign(math.sqrt(max(found.cross, 0.0)), found.mean)
    return Directed(found.width, mean, max(found.square - mean**2, 0.0), scatter, rank=rank)


def _dpfp(mixer: MixerSpec, side: Side) -> Directed | None:
    """Channels of dpfp, taken as independent products of two rectified entries."""
    features, width = mixer.features, mixer.key_dim
    powers = projections.entry_powers("dpfp", features.std_of(side), mixer.heads.state_dim)
    normed = features.norm_of(side)
    if normed not in ("none", "sum"):
        return None
    scale = features.gain / (width * powers.mean if normed == "sum" else 1.0)
    scatter = max(powers.fourth / powers.square**2 - 1.0, 0.0) / width
    return Directed(width, scale * powers.mean, scale**2 * powers.variance, scatter)


def _scatter(mixer: MixerSpec, side: Side, found: Vector) -> float:
    """Variance of the squared length over the square of its mean; 0 where a norm of the head fixes it."""
    features = mixer.features
    normed = features.norm_of(side)
    if normed in FIXED_LENGTH and features.norm_over == "head":
        return 0.0
    match features.map:
        case "ones" | "softmax_pm":  # the sum of a softmax is fixed
            return 0.0
        case "static":
            return 2.0 / found.width
        case "scaled_static":
            return 2.0 + 6.0 / found.width
        case "one_minus_decay" if side == "k":
            return max(found.square - found.fixed, 0.0) * 4.0 / found.square / found.width if found.square else 0.0
        case "one_minus_decay":
            name: MapName = "silu"
        case other:
            name = other
    powers = projections.entry_powers(name, features.std_of(side), mixer.heads.state_dim)
    return max(powers.fourth / powers.square**2 - 1.0, 0.0) / found.width if powers.square else 0.0
