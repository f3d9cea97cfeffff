"""How often a readout is nearly zero, and which gates can switch a key off. Source: theory, P2."""

import math
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from checkers import scores
from checkers.finding import Quantity, quantity
from checkers.quadrature import expectation, nearly_zero
from checkers.spectrum import lowest_reached
from checkers.starts import sqrt_complement
from checkers.thresholds import DEFAULTS, FragileZeroSet
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.readout import Polynomial, Readout

SPREADS = (1.0, 4.0, 16.0)  # score std at which the near-zero fraction is taken
NEGLIGIBLE = 0.01  # of its supremum: a gate that comes so low switches a key off


class Suppression(StrEnum):
    """How well a readout can switch keys off."""

    ROBUST = "robust"
    SLAB = "slab"
    FRAGILE = "fragile"
    FLOOR = "positive floor"


class Selectivity(NamedTuple):
    """Near-zero fractions at spreads 1, 4, 16, what they mean, and the smallest |phi| (0 if phi changes its sign)."""

    fractions: tuple[float, ...]
    suppression: Suppression
    floor: float

    @property
    def text(self) -> str:
        """`f(1) = 0.500, ...` for a message."""
        return ", ".join(f"f({spread:g}) = {self.fractions[index]:.3f}" for index, spread in enumerate(SPREADS))

    @property
    def evidence(self) -> Mapping[str, Quantity]:
        """The three fractions for a report."""
        return {
            f"near_zero_fraction_at_{spread:g}": quantity(self.fractions[index], "of scores")
            for index, spread in enumerate(SPREADS)
        }


@lru_cache(1024)
def selectivity(readout: Readout, limits: FragileZeroSet = DEFAULTS.fragile_zero_set) -> Selectivity:
    """Near-zero fractions f(s) = P(|phi(z)| <= 0.01 E|phi(z)|), z ~ N(0, s^2); `limits` may move the 0.01."""
    fractions = tuple(_fraction(readout, spread, limits.near_zero) for spread in SPREADS)
    floor = _floor(readout)
    return Selectivity(fractions, _suppression(readout, fractions, floor, limits), floor)


def _suppression(readout: Readout, fractions: tuple[float, ...], floor: float, limits: FragileZeroSet) -> Suppression:
    """A polynomial attains its minimum, so a floor that is not itself nearly zero at s = 1 decides first. A capped
    readout only comes near its own: there the fraction at s = 16 decides first.
    """
    attained = readouts.polynomial_coefficients(readout) is not None
    if attained and floor > limits.near_zero * _mean_size(readout, SPREADS[0]):
        return Suppression.FLOOR
    if fractions[-1] >= limits.robust_from:
        return Suppression.ROBUST
    if floor > 0 and not attained:
        return Suppression.FLOOR
    return Suppression.FRAGILE if max(fractions[:-1]) < limits.fragile_below else Suppression.SLAB


def _floor(readout: Readout) -> float:
    """The smallest |phi| where phi keeps one sign, which may be the negative one for a polynomial; else 0."""
    lowest = readouts.infimum(readout)
    if isinstance(readout, Polynomial):
        flipped = tuple(-coefficient for coefficient in readout.coefficients)
        lowest = max(lowest, readouts.infimum(readout.model_copy(update={"coefficients": flipped})))
    return max(lowest, 0.0)


def _fraction(readout: Readout, spread: float, near_zero: float) -> float:
    phi = readouts.function(readout)
    return nearly_zero(lambda x: phi(spread * x), near_zero)


def _mean_size(readout: Readout, spread: float) -> float:
    """E|phi(z)| for z ~ N(0, spread^2)."""
    phi = readouts.function(readout)
    return expectation(lambda x: abs(phi(spread * x)))


def moves_expanded_score(mixer: MixerSpec) -> bool:
    """The feature map expands the score, and A_t acts on its terms apart: what is left is no polynomial of q . k."""
    apart = mixer.decay.granularity == "diagonal" or mixer.lift.kind in ("momentum", "shift")
    moves = apart or not mixer.rotation.is_identity or not mixer.erase.is_identity
    return moves and scores.effective_readout(mixer) != mixer.readout


def gates(mixer: MixerSpec) -> tuple[str, ...]:
    """What can switch a key off by the token: a gate or an evolution with infimum 0, a gate on the value.

    A gate or an evolution makes a score 0, which is no weight only where phi(0) = 0; a forget gate under a readout that
    vanishes far below 0 makes it minus infinity.
    """
    found = []
    if readouts.value(mixer.readout, 0.0) == 0.0:
        found += _on_score(mixer)
    if mixer.shear.source == "input" and mixer.shear.sign == "decreasing" and _vanishes_below(mixer.readout):
        found.append("forget gate")
    if mixer.io.value_gate != "none":
        found.append(f"value gate {mixer.io.value_gate}")
    return tuple(found)


def _on_score(mixer: MixerSpec) -> list[str]:
    """Gates that make a score 0."""
    found = []
    if mixer.scaling.reads_input and _gate_reaches_zero(mixer):
        found.append(f"scaling gate {mixer.scaling.gate}")
    if mixer.decay.reads_input and mixer.decay.hull[0] <= NEGLIGIBLE:
        found.append("decay down to 0")
    if not mixer.erase.is_identity and lowest_reached(mixer) <= NEGLIGIBLE:
        found.append("erase up to a projection")
    return found


def _gate_reaches_zero(mixer: MixerSpec) -> bool:
    """The infimum of b_j is negligible beside its supremum."""
    decay, gain = mixer.decay, mixer.erase.gain
    match mixer.scaling.gate:
        case "complement":
            return decay.reads_input and 1.0 - decay.hull[1] <= NEGLIGIBLE
        case "sqrt_1_minus_a2":
            return decay.reads_input and sqrt_complement(decay.hull[1]) <= NEGLIGIBLE
        case "tied_to_erase":
            return gain[0] <= NEGLIGIBLE * gain[1]
        case "exp" | "exp_key":
            return mixer.scaling.cap is None or math.exp(-2.0 * mixer.scaling.cap) <= NEGLIGIBLE
        case _:
            return True


def _vanishes_below(readout: Readout) -> bool:
    """phi tends to 0 as the score falls without end."""
    return readouts.value(readout, -math.inf) == 0.0


def by_gate(mixer: MixerSpec) -> str:
    """`by gate: ...` for a message."""
    found = gates(mixer)
    return f"by gate: {', '.join(found)}" if found else "by gate: none"


def is_input_independent(mixer: MixerSpec) -> bool:
    """No coefficient depends on the token: static q and k, a time-invariant evolution, a constant b_j, no value gate.

    A learned eta_i = exp(n_i) scales whole rows and selects nothing, unless a diagonal outside of it is weighed so.
    """
    fixed = mixer.features.is_static and not _moves_with_input(mixer) and not _gate_of_its_own(mixer)
    weighs = mixer.normalization.kind == "learned" and mixer.support.diagonal != "none"
    return fixed and not weighs and mixer.io.value_gate == "none"


def _moves_with_input(mixer: MixerSpec) -> bool:
    """The evolution, with what it writes beside the key, depends on the token; q and k do not."""
    decay, erase = mixer.decay, mixer.erase
    gained = erase.gain[0] < erase.gain[1] or erase.direction == "free"
    return (
        (decay.reads_input and decay.hull[0] < decay.hull[1])
        or (mixer.rotation.source == "input" and not mixer.rotation.is_identity)
        or (not erase.is_identity and gained)
        or mixer.shear.source == "input"
        or mixer.lift.kind in ("delay1", "momentum", "fenwick")
    )


def _gate_of_its_own(mixer: MixerSpec) -> bool:
    """b_j is computed from the token; gates made of the decay or the erase change with these alone."""
    match mixer.scaling.gate:
        case "none" | "index" | "complement" | "sqrt_1_minus_a2" | "tied_to_erase":
            return False
        case _:
            return True
