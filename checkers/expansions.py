"""q . k at initialisation behind maps that expand or estimate a function of the score, whose channels share factors."""

import math

from checkers.projections import entry_of, tame
from checkers.quadrature import Powers, Spread
from designspace.features import NormName
from designspace.mixer import MixerSpec

RFF_MEAN = math.exp(-1.0)  # E cos(w . (x - y)) for unit x, y and w ~ N(0, 1)
RFF_VARIANCE = 0.5 * (1.0 + math.exp(-4.0)) - math.exp(-2.0)  # of one cosine


def expanded_product(mixer: MixerSpec) -> Spread | None:
    """q . k of the maps that expand or estimate a function of the score; None for the others."""
    features, width = mixer.features, mixer.heads.state_dim
    q_std, k_std = tame(features.q_std), tame(features.k_std)
    match features.map:
        case "taylor2":
            found = _taylor(q_std, k_std, width, normed=features.norm != "none")
        case "rff":
            found = _fourier(width, features.width or 1, centred=features.norm == "layernorm")
        case "dpfp":
            ends = entry_of(mixer, "q").powers, entry_of(mixer, "k").powers
            found = _dpfp(ends, width, features.width or 1, features.norm)
        case _:
            return None
    return found.times(mixer.key_dim) if features.norm in ("rms", "rms_weighted", "layernorm") else found


def _taylor(q_std: float, k_std: float, width: int, *, normed: bool) -> Spread:
    """1 + z + z^2 / 2 for z = n^-1/2 q . k; a norm divides by the lengths of the features, 1 + x^2 + x^4 / 2."""
    variance = (q_std * k_std) ** 2
    excess = 1.0 / (1.0 + 2.0 / width) if normed else 1.0 + 2.0 / width  # of E z^4: lengths given, or random
    mean, square = 1.0 + 0.5 * variance, 1.0 + 2.0 * variance + 0.75 * variance**2 * excess
    length = 1.0
    if normed:
        for std in (q_std, k_std):
            energy = std**2 * math.sqrt(width)
            length *= math.sqrt(1.0 + energy + 0.5 * energy**2)
    return Spread(mean / length, square / length**2, (mean / length) ** 2)


def _fourier(width: int, pairs: int, *, centred: bool) -> Spread:
    """Mean over `pairs` of cos w . (x - y) for unit x and y of `width` channels and w ~ N(0, 1): features of length 1.

    Centring takes half of the mean of the cosines away, and their share of the length.
    """
    linear = math.exp(-2.0) / width  # of x . y itself
    if not centred:
        return Spread(RFF_MEAN, RFF_MEAN**2 + RFF_VARIANCE / pairs + linear, RFF_MEAN**2)
    cosine, sine = 0.5 * (1.0 + math.exp(-2.0)) - RFF_MEAN, 0.5 * (1.0 - math.exp(-2.0))
    variance = (0.5 * RFF_MEAN * (cosine + sine) + cosine**2 + sine**2) / pairs + linear
    length = 1.0 - 0.5 * RFF_MEAN - 0.5 * (1.0 - RFF_MEAN) / pairs
    mean = 0.5 * RFF_MEAN / length
    return Spread(mean, mean**2 + variance / length**2, mean**2)


def _dpfp(ends: tuple[Powers, Powers], raws: int, shifts: int, norm: NormName) -> Spread:
    """Channels h_c h_(c-s) of h = [relu(x), relu(-x)] share their factors: all pairs of channels are counted."""
    width = 2 * raws * shifts
    totals = [0.0, 0.0, 0.0]  # sums over pairs of channels of E u_a u_b: of the queries, of the keys, their products
    near = 0
    for shift in range(1, shifts + 1):
        for other in range(1, shifts + 1):
            shared = {start + turn for start in (0, -shift, other, other - shift) for turn in (0, raws)}
            for channel in {one % (2 * raws) for one in shared}:
                indices = [index % (2 * raws) for index in (0, -shift, channel, channel - other)]
                both = [_joint(one, indices, raws) for one in ends]
                near += 1
                totals = [total + value for total, value in zip(totals, (*both, both[0] * both[1]), strict=True)]
    far = shifts * width - near
    apart = [one.mean**4 for one in ends]
    q_sum, k_sum, square = (
        2 * raws * (total + far * value) for total, value in zip(totals, (*apart, apart[0] * apart[1]), strict=True)
    )
    if norm == "sum":
        return Spread(1.0 / width, square / (q_sum * k_sum), width**-2.0)
    mean = width * (ends[0].mean * ends[1].mean) ** 2
    return Spread(mean, square, mean**2)


def _joint(powers: Powers, indices: list[int], raws: int) -> float:
    """E of a product of half-rectified entries; entry c and c + raws are relu(x) and relu(-x), one of which is 0."""
    found = 1.0
    for raw in {index % raws for index in indices}:
        same = [index for index in indices if index % raws == raw]
        found *= 0.0 if len(set(same)) > 1 else powers[len(same) - 1]
    return found
