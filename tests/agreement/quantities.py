"""Predicted quantities against measured ones: std, gain, slope, half-life, near-zero fractions, state bytes.

Within, beside the uncertainty of the measurement: score std 15 %, growth gain 15 % and slope 0.1, half-life 10 %,
near-zero fraction 0.02, state bytes equal (theory, section 3). A measurement that is less certain than half of the
tolerance after many draws is undecided, and counted apart.
"""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from checkers.confirmation import PREDICTIONS, Prediction
from checkers.growth import SETTLED, typical_gain
from checkers.rule import Context, Site
from designspace.candidate import Candidate
from designspace.measurement import Measurement
from designspace.readout import Exponential
from tests.agreement.cases import mixer_case
from workers.probe import probe
from workers.probes.growth import LENGTHS

PROBES = ("score_scale", "growth", "horizon", "selectivity", "state")
RULES = ("score-scale", "numerator-grows", "short-horizon", "fragile-zero-set", "lifted-state-exceeds-cache")
DRAWS = 6
MORE = 3  # times the draws, at least, where fewer decide nothing
ROUNDS = 2
MOST_DRAWS = {"score_scale": 640}  # cheap ones
MOST_DRAWS_ELSE = 160
MARGIN = 1.5  # on the number of draws that should decide
HOPELESS = 4  # times the most draws that would be needed: not tried
UNCERTAIN = 0.5  # of the tolerance: a measurement that is less certain decides nothing
SLOPE = 0.1
SLOPE_NAME = "output_gain_slope"


Outcome = Literal["agreed", "wrong", "undecided", "not predicted"]


class Comparison(NamedTuple):
    """A measured quantity of a mixer and its prediction; None where nothing is predicted."""

    measured: Measurement
    expected: Prediction | None

    @property
    def quantity(self) -> str:
        """Name of what is compared."""
        return self.measured.quantity

    @property
    def outcome(self) -> Outcome:
        """A measurement whose own uncertainty exceeds half of the tolerance decides nothing."""
        if self.expected is None:
            return "not predicted"
        if self.excess > 1.0:
            return "undecided"
        return "agreed" if self.expected.confirmed(self.measured) else "wrong"

    @property
    def excess(self) -> float:
        """Uncertainty of the measurement over the largest that decides."""
        if self.expected is None or self.measured.uncertainty == 0.0:
            return 0.0
        if math.isinf(self.expected.high):  # how far the measurement stands from the limit
            room = abs(self.measured.value - self.expected.low)
        else:
            room = UNCERTAIN * 0.5 * (self.expected.high - self.expected.low)
        return self.measured.uncertainty / room if room > 0.0 else math.inf


@dataclass
class Agreement:
    """How one predicted quantity came out over many specs."""

    agreed: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)  # name or number of the spec, and the numbers
    undecided: int = 0
    not_predicted: int = 0

    @property
    def predicted(self) -> int:
        """Specs with a prediction that a measurement decided."""
        return self.agreed + len(self.wrong)

    def add(self, name: str, one: Comparison) -> None:
        """Count one more spec."""
        match one.outcome:
            case "agreed":
                self.agreed += 1
            case "undecided":
                self.undecided += 1
            case "not predicted":
                self.not_predicted += 1
            case "wrong" if one.expected is not None:
                self.wrong.append((name, text(one.measured, one.expected)))


def compared(candidate: Candidate, *, draws: int = DRAWS) -> Iterator[Comparison]:
    """Every measured quantity of the first mixer with its prediction; noisy ones again, with more draws."""
    found = {one.quantity: one for one in _compared(candidate, PROBES, draws)}
    for _ in range(ROUNDS):
        for name in sorted({one.measured.probe for one in found.values() if one.outcome == "undecided"}):
            noisy = [one for one in found.values() if one.measured.probe == name]
            worst, most = max(one.excess for one in noisy), MOST_DRAWS.get(name, MOST_DRAWS_ELSE)
            before = max(one.measured.draws for one in noisy)
            if before >= most or worst**2 > HOPELESS * most / before:
                continue
            wanted = min(max(math.ceil(MARGIN * worst**2 * before), MORE * before), most)
            again = _compared(candidate, (name,), wanted)
            found |= {one.quantity: one for one in again if one.quantity in found}
    yield from found.values()


def _compared(candidate: Candidate, probes: tuple[str, ...], draws: int) -> Iterator[Comparison]:
    context = Context(candidate, tuple(probe(candidate, 0, only=probes, draws=draws)))
    site = context.sites[0]
    found = {one.quantity: one for one in context.measurements if one.path == site.path}
    expected = {one.quantity: one for rule in _rules(site) for one in PREDICTIONS[rule](site, found.get)}
    slope = predicted_slope(site)
    if slope is not None:
        expected[SLOPE_NAME] = Prediction(SLOPE_NAME, slope - SLOPE, slope + SLOPE)
    for name in quantities(site):
        if name in found:
            yield Comparison(found[name], expected.get(name))


def quantities(site: Site) -> Iterator[str]:
    """What a rule predicts of this mixer."""
    mixer = site.mixer
    if not mixer.features.is_static:
        yield "score_std"
    if mixer.normalization.kind == "none":
        yield from ("output_gain", SLOPE_NAME)
    yield from ("longest_half_life", *(f"near_zero_fraction_at_{spread}" for spread in (1, 4, 16)), "state_bytes")


def _rules(site: Site) -> tuple[str, ...]:
    undivided = site.mixer.normalization.kind == "none"
    return tuple(rule for rule in RULES if undivided or rule != "numerator-grows")


def predicted_slope(site: Site) -> float | None:
    """Slope of log G against log length over the lengths that are probed; None without a settled prediction."""
    if site.mixer.normalization.kind != "none" or site.mixer.reads_target_length:
        return None
    gains = [typical_gain(site.mixer, length) for length in LENGTHS]
    known = [gain for gain in gains if gain is not None and gain > 0.0]
    scattered = not site.mixer.erase.is_identity or isinstance(site.mixer.readout, Exponential)
    if len(known) < len(LENGTHS) or (known[-1] > SETTLED and scattered):
        return None
    return statistics.linear_regression(list(map(math.log, LENGTHS)), list(map(math.log, known))).slope


def text(measured: Measurement, expected: Prediction) -> str:
    """The numbers of one comparison."""
    return f"{measured.value:.4g} ± {measured.uncertainty:.2g}, expected {expected.low:.4g} to {expected.high:.4g}"


def agreements(specs: int, *, first: int = 0, draws: int = DRAWS) -> dict[str, Agreement]:
    """Every quantity over random specs from the number `first` on."""
    found: dict[str, Agreement] = {}
    for number in range(first, first + specs):
        try:
            candidate = mixer_case(number, seq_len=LENGTHS[-1])
        except ValueError:
            continue
        for one in compared(candidate, draws=draws):
            found.setdefault(one.quantity, Agreement()).add(str(number), one)
    return found
