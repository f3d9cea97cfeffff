"""Where constant factors stand: one number for what base, gains, eta factor and polynomial coefficients multiply.

A learned base is left alone: its initial value is not the factor. All of these keep every coefficient exactly (to
rounding), and none leaves the range of numbers that a spec may hold.
"""

from designspace.mixer import MixerSpec
from designspace.readout import Identity, Polynomial, Relu, homogeneous_degree, is_linear
from designspace.rewritings.change import changed, is_one, snapped
from designspace.rewritings.parts import with_base
from designspace.spec import LARGEST, is_in_range

CONSTANT_GAIN_NORMS = ("none", "l2", "rms", "sum")  # after which the gain is a constant, not a learned vector


def polynomial_trimmed(mixer: MixerSpec) -> MixerSpec:
    """Trailing zero coefficients are no terms; (0, 1) is the identity, under a softcap too."""
    readout = mixer.readout
    if not isinstance(readout, Polynomial):
        return mixer
    degree = max(d for d, c in enumerate(readout.coefficients) if c != 0)
    if readout.coefficients[: degree + 1] == (0.0, 1.0):
        return mixer.model_copy(update={"readout": Identity(softcap=readout.softcap)})
    return changed(mixer, "readout", coefficients=readout.coefficients[: degree + 1])


def polynomial_linear(mixer: MixerSpec) -> MixerSpec:
    """(0, c) with c > 0 is the identity with base c times as large."""
    readout = mixer.readout
    if not (isinstance(readout, Polynomial) and is_linear(readout) and _base_is_free(mixer)):
        return mixer
    slope = readout.coefficients[1]
    if not is_in_range(_base(mixer) * slope):
        return mixer
    return with_base(mixer.model_copy(update={"readout": Identity()}), _base(mixer) * slope)


def polynomial_absorbs(mixer: MixerSpec) -> MixerSpec:
    """sum c_d (b z)^d / factor has coefficients c_d b^d / factor; over its own row sum the last one is 1.

    Domain: constant base inside the score, no softcap, shear or bonus outside. The factor stays where eta is a row sum.
    """
    readout, norm = mixer.readout, mixer.normalization
    if not isinstance(readout, Polynomial) or readout.is_capped or not _base_is_free(mixer):
        return mixer
    factor = 1.0 if norm.sums_the_row else norm.factor
    folded = [c * _base(mixer) ** d / factor for d, c in enumerate(readout.coefficients)]
    if _is_pure_row_sum(mixer):
        folded = [c / folded[-1] for c in folded] if folded[-1] else folded
    vanished = any((new == 0) != (old == 0) for new, old in zip(folded, readout.coefficients, strict=True))
    if vanished or not all(abs(c) <= LARGEST for c in folded):
        return mixer
    if not norm.sums_the_row:
        mixer = changed(mixer, "normalization", factor=1.0)
    return with_base(changed(mixer, "readout", coefficients=tuple(map(snapped, folded))), 1.0)


def polynomial_over_own_sum(mixer: MixerSpec) -> MixerSpec:
    """A common factor of the coefficients divides out in the row sum, behind a softcap too: the last one is 1.

    Domain: eta the row sum with eps 0, nothing outside but D.
    """
    readout = mixer.readout
    if not isinstance(readout, Polynomial) or not _is_pure_row_sum(mixer) or _has_bonus_outside(mixer):
        return mixer
    if mixer.scaling.where == "after" or readout.coefficients[-1] in (0.0, 1.0):
        return mixer
    scaled = tuple(snapped(c / readout.coefficients[-1]) for c in readout.coefficients)
    vanished = any((new == 0) != (old == 0) for new, old in zip(scaled, readout.coefficients, strict=True))
    if vanished or not all(abs(c) <= LARGEST for c in scaled):
        return mixer
    return changed(mixer, "readout", coefficients=scaled)


def base_after_phi(mixer: MixerSpec) -> MixerSpec:
    """A base after phi goes into the score if it is 1, or phi is linear and eta no row sum; else into eta's factor.

    The last needs a constant base and no bonus outside, which carries the base too.
    """
    scaling, norm = mixer.scaling, mixer.normalization
    if scaling.where != "after":
        return mixer
    one = is_one(_base(mixer)) and not scaling.learnable
    if (one and not mixer.shear.scaled) or (is_linear(mixer.readout) and not norm.sums_the_row):
        return changed(mixer, "scaling", where="score")
    factor = norm.factor / _base(mixer)
    if scaling.learnable or _has_bonus_outside(mixer) or mixer.shear.scaled or not is_in_range(factor):
        return mixer
    return with_base(changed(changed(mixer, "normalization", factor=snapped(factor)), "scaling", where="score"), 1.0)


def gain_in_base(mixer: MixerSpec) -> MixerSpec:
    """A constant gain g on q and on k is g^2 on the base, where A does not hold k.

    Domain: no learned gain or base, no erase along the key, no decay computed from it, no base after phi.
    """
    features, scaling = mixer.features, mixer.scaling
    if features.gain == 1 or features.norm not in CONSTANT_GAIN_NORMS or key_in_evolution(mixer):
        return mixer
    if scaling.learnable or scaling.where == "after" or mixer.shear.scaled:
        return mixer
    base = _base(mixer) * features.gain**2
    if not is_in_range(base):
        return mixer
    return with_base(changed(mixer, "features", gain=1.0), base)


def attention_factor_in_base(mixer: MixerSpec) -> MixerSpec:
    """An attention factor f on all channels of q and k is f^2 on the base, under the conditions of a constant gain."""
    factor, scaling = mixer.rotation.attention_factor, mixer.scaling
    covers = 2 * mixer.rotation.pairs(mixer.key_dim) == mixer.key_dim
    if factor == 1 or not covers or key_in_evolution(mixer):
        return mixer
    if scaling.learnable or scaling.where == "after" or mixer.shear.scaled:
        return mixer
    base = _base(mixer) * factor**2
    if not is_in_range(base):
        return mixer
    return with_base(changed(mixer, "rotation", attention_factor=1.0), base)


def factor_in_base(mixer: MixerSpec) -> MixerSpec:
    """phi(c z) = c^d phi(z): a factor f of eta is f^(-1/d) on the base.

    Domain: identity or relu without softcap or shear, eta no row sum, constant base, no bonus outside.
    """
    norm, degree = mixer.normalization, homogeneous_degree(mixer.readout)
    homogeneous = isinstance(mixer.readout, Identity | Relu) and degree is not None
    if norm.factor == 1 or norm.sums_the_row or not homogeneous or not _base_is_free(mixer):
        return mixer
    base = _base(mixer) * norm.factor ** (-1.0 / (degree or 1))
    if not is_in_range(base):
        return mixer
    return with_base(changed(mixer, "normalization", factor=1.0), base)


def row_sum_divides_base(mixer: MixerSpec) -> MixerSpec:
    """phi(c z) / sum phi(c z) = phi(z) / sum phi(z) for c > 0 and homogeneous phi: the base is void, learned or not.

    Domain: identity or relu without softcap or shear over its own row sum with eps 0, nothing outside but D.
    """
    if not isinstance(mixer.readout, Identity | Relu) or homogeneous_degree(mixer.readout) is None:
        return mixer
    if not _is_pure_row_sum(mixer) or not mixer.shear.is_identity or _has_bonus_outside(mixer):
        return mixer
    if mixer.scaling.where == "after":
        return mixer
    return changed(mixer, "scaling", base="n^-1/2", learnable=False)


def key_in_evolution(mixer: MixerSpec) -> bool:
    """A_t is computed from k, so the length of k is not a factor of the score alone."""
    erases = mixer.erase.direction in ("key", "key_scaled") and not mixer.erase.is_identity
    return erases or (mixer.decay.granularity != "none" and mixer.decay.map == "one_minus_bk2")


def _base(mixer: MixerSpec) -> float:
    return mixer.base


def _has_bonus_outside(mixer: MixerSpec) -> bool:
    return mixer.support.diagonal == "bonus" and mixer.support.read == "after"


def _is_pure_row_sum(mixer: MixerSpec) -> bool:
    return mixer.normalization.kind == "sum" and mixer.normalization.eps == 0


def _base_is_free(mixer: MixerSpec) -> bool:
    """The base is a constant factor of the whole score and of nothing else."""
    alone = mixer.shear.is_identity and not _has_bonus_outside(mixer)
    return alone and not mixer.scaling.learnable and mixer.scaling.where != "after"


REWRITINGS = (
    polynomial_trimmed,
    polynomial_linear,
    polynomial_absorbs,
    polynomial_over_own_sum,
    base_after_phi,
    gain_in_base,
    attention_factor_in_base,
    factor_in_base,
    row_sum_divides_base,
)
