"""Signs of the eigenvalues of one step of the evolution. Source: theory, P4; arXiv 2411.12537, theorem 1."""

from enum import StrEnum

from checkers import scores
from designspace.mixer import MixerSpec


class Spectrum(StrEnum):
    """What is known about the eigenvalues of A_t."""

    POSITIVE = "real and not negative"
    REACHES_NEGATIVE = "reaches negative values"
    COMPLEX = "complex"
    OPEN = "not derived"


def spectrum(mixer: MixerSpec) -> Spectrum:
    """Signs of the eigenvalues of A_t over the declared ranges, for a recurrence with a finite state."""
    if mixer.lift.kind in ("momentum", "fenwick"):
        return Spectrum.OPEN
    if not mixer.rotation.is_identity:
        return Spectrum.COMPLEX
    if mixer.erase.is_identity:
        return Spectrum.POSITIVE
    if lowest_eigenvalue(mixer) < 0:
        return Spectrum.REACHES_NEGATIVE
    # I - beta k k^T and its per-channel relatives are similar to positive semidefinite matrices, and a product of two
    # such matrices has a real, nonnegative spectrum; of three it need not.
    factors = mixer.erase.rank + (mixer.decay.granularity == "diagonal")
    return Spectrum.POSITIVE if factors <= 2 else Spectrum.OPEN


def lowest_eigenvalue(mixer: MixerSpec) -> float:
    """Smallest eigenvalue that one erase step reaches: 1 - beta |k|^2, or a - beta |k|^2 in the additive form."""
    kept = mixer.decay.hull[0] if mixer.erase.compose == "additive" else 1.0
    return kept - mixer.erase.gain[1] * key_length_squared(mixer)


def key_length_squared(mixer: MixerSpec) -> float:
    """Largest |k|^2 that the erase sees; the expected one at initialisation where nothing bounds it."""
    if mixer.erase.direction == "free":
        return 1.0
    bound = mixer.key_norm_bound
    return expected_key_length_squared(mixer) if bound is None else bound


def expected_key_length_squared(mixer: MixerSpec) -> float:
    """E |k|^2 at initialisation of a key that nothing normalises: n times the mean square of an entry."""
    match mixer.features.map:
        case "identity" | "silu" | "relu" | "elu+1" | "hadamard" | "dpfp" | "ones" | "softmax_pm" as name:
            per_channel = scores.entry(name, scores.tame(mixer.features.k_std), mixer.heads.state_dim).square
        case _:
            per_channel = scores.tame(mixer.features.k_std) ** 2
    return mixer.key_dim * per_channel * mixer.features.gain**2
