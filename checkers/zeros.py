"""How often a readout is nearly zero, and which gates can switch a key off. Source: theory, P2."""

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from checkers.quadrature import expectation, probability_below
from checkers.thresholds import DEFAULTS, FragileZeroSet
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.readout import Readout

SPREADS = (1.0, 4.0, 16.0)  # score std at which the near-zero fraction is taken


class Suppression(StrEnum):
    """How well a readout can switch keys off."""

    ROBUST = "robust"
    SLAB = "slab"
    FRAGILE = "fragile"
    FLOOR = "positive floor"


class Selectivity(NamedTuple):
    """Near-zero fractions at spreads 1, 4, 16, what they mean, and the positive floor (0 where there is none)."""

    fractions: tuple[float, ...]
    suppression: Suppression
    floor: float


@lru_cache(1024)
def selectivity(readout: Readout, limits: FragileZeroSet = DEFAULTS.fragile_zero_set) -> Selectivity:
    """Near-zero fractions f(s) = P(|phi(z)| <= 0.01 E|phi(z)|), z ~ N(0, s^2); `limits` may move the 0.01."""
    fractions = _fractions(readout, limits.near_zero)
    if fractions[-1] >= limits.robust_from:
        return Selectivity(fractions, Suppression.ROBUST, 0.0)
    floor = readouts.infimum(readout)
    if floor > 0:
        return Selectivity(fractions, Suppression.FLOOR, floor)
    fragile = max(fractions[:-1]) < limits.fragile_below
    return Selectivity(fractions, Suppression.FRAGILE if fragile else Suppression.SLAB, 0.0)


def _fractions(readout: Readout, near_zero: float) -> tuple[float, ...]:
    if readouts.homogeneous_degree(readout) is not None:  # the spread cancels
        return (_fraction(readout, 1.0, near_zero),) * len(SPREADS)
    return tuple(_fraction(readout, spread, near_zero) for spread in SPREADS)


def _fraction(readout: Readout, spread: float, near_zero: float) -> float:
    def value(x: float) -> float:
        return readouts.value(readout, spread * x)

    return probability_below(value, near_zero * expectation(lambda x: abs(value(x))))


def gates(mixer: MixerSpec) -> tuple[str, ...]:
    """What can switch a key off by the token: a gate with infimum 0, an evolution that reaches 0, a value gate."""
    found = []
    if mixer.scaling.reads_input and _gate_reaches_zero(mixer):
        found.append(f"scaling gate {mixer.scaling.gate}")
    if mixer.decay.reads_input and mixer.decay.hull[0] == 0.0:
        found.append("decay down to 0")
    if not mixer.erase.is_identity and mixer.erase.gain[1] >= 1.0:
        found.append("erase up to a projection")
    if mixer.io.value_gate != "none":
        found.append(f"value gate {mixer.io.value_gate}")
    return tuple(found)


def _gate_reaches_zero(mixer: MixerSpec) -> bool:
    match mixer.scaling.gate:
        case "complement" | "sqrt_1_minus_a2":
            return mixer.decay.reads_input and mixer.decay.hull[1] >= 1.0
        case "tied_to_erase":
            return mixer.erase.gain[0] == 0.0
        case _:
            return True


def by_gate(mixer: MixerSpec) -> str:
    """`by gate: ...` for a message."""
    found = gates(mixer)
    return f"by gate: {', '.join(found)}" if found else "by gate: none"
