"""The equivalences of theory.md section 1 that relate different parts: numbers 1, 3 and 4.

5 is `degenerate.one_channel`, 6 is `parts.norm_order_off`; 2, 7, 8 and 9 are facts with tests, not rewritings.
"""

from designspace.features import Features
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential, Identity, Polynomial, is_linear, polynomial_coefficients
from designspace.rewritings.amplitude import CONSTANT_GAIN_NORMS, key_in_evolution
from designspace.rewritings.change import changed, snapped
from designspace.rewritings.parts import with_base
from designspace.spec import LARGEST, is_in_range

POSITIVE_MAPS = ("elu+1", "softmax_pm", "favor", "ones")  # every feature is > 0, so every row sum is
TAYLOR = (1.0, 1.0, 0.5)  # taylor2: q.k becomes 1 + z + z^2 / 2 with z = n^-1/2 q.k


def constant_score(mixer: MixerSpec) -> MixerSpec:
    """Equivalence 1: exponential readout over its row sum: what q.k adds is void where it is the same for every key.

    Domain: no softcap, eps or sink; q and k without a token, no gate, A = I but for an unscaled shear, read after.
    Void: the vectors, their norm and scales, the base, the query schedule.
    """
    norm, scaling, readout = mixer.normalization, mixer.scaling, mixer.readout
    softmax = isinstance(readout, Exponential) and not readout.is_capped and norm.kind == "sum" and norm.eps == 0
    still = mixer.decay.is_identity and mixer.rotation.is_identity and mixer.erase.is_identity
    alone = mixer.lift.kind == "none" and mixer.support.read == "after" and mixer.support.diagonal != "bonus"
    if not (softmax and still and alone and mixer.features.is_static) or scaling.where == "after":
        return mixer
    if scaling.gate != "none" or mixer.shear.scaled or mixer.erase.direction != "none":
        return mixer
    if mixer.features.norm == "layernorm" and mixer.features.eps == 0:
        return mixer  # 0 / 0 for equal channels
    plain = Features(map="ones", eps_kind=mixer.features.eps_kind)
    if mixer.features != plain:
        mixer = mixer.model_copy(update={"features": plain})
    return changed(mixer, "scaling", base="n^-1/2", learnable=False, query_schedule="none")


def taylor_features(mixer: MixerSpec) -> MixerSpec:
    """Equivalence 3: with A = I, taylor2 features under a linear readout are the polynomial 1 + z + z^2 / 2.

    Domain: no feature norm, no gate, no bonus (it has one entry per feature), no query schedule, constant base: with it
    B, gain g and slope c of the readout the polynomial is c B g^2 (1, 1, 1/2) in z = n^-1/2 q.k.
    """
    features, scaling, readout = mixer.features, mixer.scaling, mixer.readout
    plain = features.norm == "none" and scaling.gate == "none" and mixer.support.diagonal != "bonus"
    constant = not scaling.learnable and scaling.query_schedule == "none" and scaling.where != "after"
    if features.map != "taylor2" or not (mixer.evolution_is_identity and plain and constant and is_linear(readout)):
        return mixer
    if mixer.erase.direction != "none":
        return mixer
    slope = readout.coefficients[1] if isinstance(readout, Polynomial) else 1.0
    height = slope * mixer.base * features.gain**2
    coefficients = tuple(snapped(height * c) for c in TAYLOR)
    if not all(is_in_range(abs(c)) for c in coefficients):
        return mixer
    polynomial = Polynomial(kind="polynomial", coefficients=coefficients)
    mixer = mixer.model_copy(update={"readout": polynomial})
    mixer = changed(mixer, "features", map="identity", gain=1.0)
    return changed(mixer, "scaling", base="n^-1/2")


def head_norm(mixer: MixerSpec) -> MixerSpec:
    """Equivalence 4: polynomial readout, then directly a norm per head: constant factors and positive eta are void.

    Kept up to a positive factor per row (void up to the eps of the norm). Domain: `amplitude_is_void`. Void: eta and a
    common factor of the coefficients; under a linear readout also the base, learned or not (its gradient is 0), the
    query schedule, and a constant gain on q and k where A does not hold k. A negative slope keeps its sign.
    """
    if not amplitude_is_void(mixer):
        return mixer
    default = Normalization()
    mixer = changed(mixer, "normalization", kind="none", eps=default.eps, factor=1.0, length_kind=default.length_kind)
    if isinstance(mixer.readout, Polynomial):
        height = abs(mixer.readout.coefficients[-1]) or 1.0
        coefficients = tuple(snapped(c / height) for c in mixer.readout.coefficients)
        if all(abs(c) <= LARGEST for c in coefficients):
            mixer = changed(mixer, "readout", coefficients=coefficients)
    if mixer.scaling.where == "after":
        mixer = with_base(changed(mixer, "scaling", where="score", learnable=False), 1.0)
    return _linear_under_head_norm(mixer) if is_linear(mixer.readout) else mixer


def _linear_under_head_norm(mixer: MixerSpec) -> MixerSpec:
    negative = not isinstance(mixer.readout, Identity)  # (0, -1), which `polynomial_absorbs` writes with base 1
    mixer = with_base(mixer, 1.0 if negative else mixer.heads.state_dim**-0.5)
    mixer = changed(mixer, "scaling", learnable=False, query_schedule="none")
    if mixer.features.norm in CONSTANT_GAIN_NORMS and not key_in_evolution(mixer):
        mixer = changed(mixer, "features", gain=1.0)
    return mixer


def amplitude_is_void(mixer: MixerSpec) -> bool:
    """A positive factor on a row of alpha divides out in the output norm (equivalence 4).

    Polynomial readout (linear after a finite lift), the norm of one head next (not behind the gate), nothing added
    outside eta, eta that stays positive.
    """
    inside = mixer.support.diagonal == "none" or mixer.support.read == "before"
    finite_lift = polynomial_coefficients(mixer.readout) is not None
    return finite_lift and mixer.io.norm_is_per_head and inside and eta_is_positive(mixer)


def eta_is_positive(mixer: MixerSpec) -> bool:
    """eta_i > 0 for every token and parameter, under a polynomial readout."""
    match mixer.normalization.kind:
        case "none" | "learned" | "max_abs_sum_1":
            return True
        case "length":
            return mixer.support.mask != "strict" or mixer.normalization.length_kind == "target"
        case "sum" | "sum_with_sink":
            return _row_sum_is_positive(mixer)


def _row_sum_is_positive(mixer: MixerSpec) -> bool:
    """Non-negative features, and nothing in A, in the lift or on the diagonal that can turn a sign."""
    features, norm = mixer.features, mixer.normalization
    signless = features.is_nonnegative and mixer.support.diagonal != "bonus"
    keeps = mixer.rotation.is_identity and mixer.erase.is_identity and mixer.lift.kind == "none"
    if not (isinstance(mixer.readout, Identity) and signless and keeps):
        return False
    attained = features.map not in POSITIVE_MAPS or mixer.scaling.gate in ("complement", "sqrt_1_minus_a2")
    empty = attained or mixer.support.mask == "strict"
    return norm.kind == "sum_with_sink" or norm.eps > 0 or not empty


REWRITINGS = (constant_score, head_norm, taylor_features)
UP_TO_ROW_FACTOR = frozenset({head_norm})
