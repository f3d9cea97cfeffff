"""What one step of the evolution can do to stored keys: signs of its eigenvalues, and whether its steps commute.

Source: theory, P4; arXiv 2411.12537, theorem 1.
"""

import math
from enum import StrEnum

from checkers.finding import Quantity, quantity
from checkers.projections import entry_powers, tame
from designspace.candidate import Candidate
from designspace.mixer import MixerSpec
from designspace.target import Target

LIFTS = {
    "shift": "a shift by one position",
    "delay1": "a delay by one token",
    "momentum": "a velocity beside the state",
}


class Spectrum(StrEnum):
    """What is known about the eigenvalues of A_t."""

    POSITIVE = "real and not negative"
    REACHES_NEGATIVE = "reaches negative values"
    COMPLEX = "complex"
    OPEN = "not derived"


def spectrum(mixer: MixerSpec) -> Spectrum:
    """Signs of the eigenvalues of A_t over the declared ranges, for a recurrence with a finite state."""
    if mixer.lift.kind == "momentum":
        return Spectrum.OPEN
    if not mixer.rotation.is_identity:
        return Spectrum.COMPLEX
    if mixer.erase.is_identity:
        return Spectrum.POSITIVE
    if lowest_reached(mixer) < 0:
        return Spectrum.REACHES_NEGATIVE
    # I - beta k k^T and its per-channel relatives are similar to positive semidefinite matrices, and a product of two
    # such matrices has a real, nonnegative spectrum; of three it need not.
    factors = mixer.erase.rank + (mixer.decay.granularity == "diagonal")
    return Spectrum.POSITIVE if factors <= 2 else Spectrum.OPEN


def lowest_eigenvalue(mixer: MixerSpec) -> float:
    """Smallest eigenvalue that one erase step reaches: 1 - beta |k|^2, or a - beta |k|^2 in the additive form."""
    kept = mixer.decay.hull[0] if mixer.erase.compose == "additive" else 1.0
    return kept - mixer.erase.gain[1] * key_length_squared(mixer)


def lowest_reached(mixer: MixerSpec) -> float:
    """Smallest eigenvalue that an erase step can reach: minus infinity where nothing bounds the keys."""
    return lowest_eigenvalue(mixer) if has_bounded_direction(mixer) else -math.inf


def has_bounded_direction(mixer: MixerSpec) -> bool:
    """The direction of the erase has a declared largest length."""
    return mixer.erase.direction == "free" or mixer.key_norm_bound is not None


def key_length_squared(mixer: MixerSpec) -> float:
    """Largest |k|^2 that the erase sees; the expected one at initialisation where nothing bounds it."""
    if mixer.erase.direction == "free":
        return 1.0
    bound = mixer.key_norm_bound
    return expected_key_length_squared(mixer) if bound is None else bound


def expected_key_length_squared(mixer: MixerSpec) -> float:
    """E |k|^2 at initialisation of a key that nothing normalises: n times the mean square of an entry; of expanded keys
    the expansion of their own product, 1 + z + z^2 / 2 with z = n^-1/2 |k|^2, E |k|^4 = n (n + 2) std^4.
    """
    features, width, std = mixer.features, mixer.heads.state_dim, tame(mixer.features.k_std)
    gain = features.gain * features.gain
    match features.map:
        case "taylor2":
            return (1.0 + math.sqrt(width) * std**2 + 0.5 * (width + 2) * std**4) * gain
        case "identity" | "silu" | "relu" | "elu+1" | "hadamard" | "dpfp" as name:
            return mixer.key_dim * entry_powers(name, std, width).square * gain
        case "relu_zero":  # half of the channels are 0
            return width * entry_powers("relu", std, width).square * gain
        case _:
            return mixer.key_dim * std * std * gain


def parity_is_excluded(candidate: Candidate) -> bool:
    """The theorem holds for the whole stack: every layer is a linear recurrence that is the same at every position, and
    every spectrum is real and not negative.
    """
    mixers = [located.mixer for located in candidate.mixers()]
    inside = candidate.is_causal and position_code(candidate) is None
    return inside and all(one.is_finite_memory and spectrum(one) is Spectrum.POSITIVE for one in mixers)


def says_little(candidate: Candidate, target: Target) -> bool:
    """A_t = I in every layer and nobody asks to track a state: that nothing moves, which CD301 says, says it all."""
    still = all(located.mixer.evolution_is_identity for located in candidate.mixers())
    return still and "state_tracking" not in target.needs


def position_code(candidate: Candidate) -> str | None:
    """Path of what makes a layer differ from position to position, which the theorem does not cover."""
    if candidate.model.positions != "none":
        return "model.positions"
    for located in candidate.mixers():
        mixer = located.mixer
        if mixer.scaling.gate == "index":
            return f"{located.path}.scaling.gate"
        if mixer.support.chunk is not None:
            return f"{located.path}.support.chunk"
        if mixer.features.reads_sequence:
            return f"{located.path}.features.map_over"
    return None


def commutes(mixer: MixerSpec) -> bool | None:
    """Any two steps A_s and A_t commute, over all tokens; None where that is not derived."""
    if mixer.lift.kind == "fenwick":
        return None
    if mixer.lift.kind == "momentum":  # the velocity takes a token's key up before the state does
        return False
    return mixer.erase.is_identity or mixer.key_dim == 1 or _erases_one_direction(mixer) or _is_one_step(mixer)


def _erases_one_direction(mixer: MixerSpec) -> bool:
    """Static keys: every erase is along the same vector, and what stands beside it is a common scale."""
    erase = mixer.erase
    common = mixer.decay.granularity != "diagonal" or mixer.decay.source == "constant"  # one number for each head
    still = mixer.rotation.is_identity and common
    fixed = _keys_are_constant(mixer) or mixer.features.map == "scaled_static"
    return fixed and erase.direction != "free" and not erase.per_channel and still


def _keys_are_constant(mixer: MixerSpec) -> bool:
    """Keys that are parameters: static ones, and 1 - a; that the decay does not read the token the callers ask."""
    return mixer.features.is_static or mixer.features.map == "one_minus_decay"


def _is_one_step(mixer: MixerSpec) -> bool:
    """No part of A_t reads the token: every step is the same."""
    features, erase, decay = mixer.features, mixer.erase, mixer.decay
    moves = (decay.reads_input and decay.hull[0] < decay.hull[1]) or mixer.rotation.source == "input"
    fixed = _keys_are_constant(mixer) or (features.map == "scaled_static" and features.norm == "l2")
    return fixed and erase.direction != "free" and erase.gain[0] == erase.gain[1] and not moves


def control(mixer: MixerSpec) -> dict[str, Quantity]:
    """What a step does to a stored key, with the ranges of its decay and erase, as evidence."""
    found = {"operations": quantity(operations(mixer))}
    if not mixer.decay.is_identity:
        found["decay"] = quantity(mixer.decay.hull, "factor per step")
    if not mixer.erase.is_identity:
        found["lowest_eigenvalue"] = quantity(lowest_reached(mixer), "eigenvalue of one step")
        found["erase_gain"] = quantity(mixer.erase.gain, "gain")
        found["erase_steps_per_token"] = quantity(mixer.erase.rank, "steps per token and layer")
    return found


def operations(mixer: MixerSpec) -> str:
    """What a step does to a stored key, in words."""
    parts = [LIFTS[mixer.lift.kind]] if mixer.lift.kind in LIFTS else []
    if not mixer.decay.is_identity:
        parts.append("one common scale" if mixer.decay.granularity == "scalar" else "a scale per channel")
    if not mixer.rotation.is_identity:
        parts.append("a phase per pair")
    if not mixer.erase.is_identity:
        parts.append(_erasing(mixer))
    if not mixer.shear.is_identity:
        parts.append("an additive step of the score")
    return " and ".join(parts) or "no operation, A_t = I"


def _erasing(mixer: MixerSpec) -> str:
    """The erase by its reach: projection up to gain 1, reflection up to 2 (of unit directions), and their number."""
    erase, lowest = mixer.erase, lowest_reached(mixer)
    if erase.compose == "additive":
        return "minus a matrix of rank one (diagonal plus rank one)"
    reach = "a shrinking" if lowest > 0 else "a projection"
    if lowest < 0:
        reach = "a reflection" if lowest >= -1 else "a reflection that stretches"
    count = "" if erase.rank == 1 else f", a product of n_h = {erase.rank} of them per token"
    return f"up to {reach} along {'its own direction' if erase.direction == 'free' else 'the key'}{count}"
