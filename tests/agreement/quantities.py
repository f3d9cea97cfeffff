"""Predicted quantities against measured ones: std, gain, slope, half-life, near-zero fractions, state bytes.

Within, beside the uncertainty of the measurement: score std 15 %, growth gain 15 % and slope 0.1, half-life 10 %,
near-zero fraction 0.02, state bytes equal (theory, section 3).
"""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.confirmation import PREDICTIONS, Prediction
from checkers.growth import SETTLED, typical_gain
from checkers.rule import Context, Site
from designspace.candidate import Candidate
from designspace.measurement import Measurement
from tests.agreement.cases import mixer_case
from workers.probe import probe
from workers.probes.growth import LENGTHS

PROBES = ("score_scale", "growth", "horizon", "selectivity", "state")
RULES = ("score-scale", "numerator-grows", "short-horizon", "fragile-zero-set", "lifted-state-exceeds-cache")
DRAWS = 6
SLOPE = 0.1
SLOPE_NAME = "output_gain_slope"


@dataclass
class Agreement:
    """How one predicted quantity came out over many specs."""

    agreed: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)  # name or number of the spec, and the numbers
    not_predicted: int = 0

    @property
    def predicted(self) -> int:
        """Specs with a prediction that was measured."""
        return self.agreed + len(self.wrong)


def compared(candidate: Candidate, *, draws: int = DRAWS) -> Iterator[tuple[Measurement, Prediction | None]]:
    """Every measured quantity of the first mixer with its prediction; None where nothing is predicted."""
    context = Context(candidate, tuple(probe(candidate, 0, only=PROBES, draws=draws)))
    site = context.sites[0]
    found = {one.quantity: one for one in context.measurements if one.path == site.path}
    expected = {one.quantity: one for rule in _rules(site) for one in PREDICTIONS[rule](site, found.get)}
    slope = predicted_slope(site)
    if slope is not None:
        expected[SLOPE_NAME] = Prediction(SLOPE_NAME, slope - SLOPE, slope + SLOPE)
    for name in quantities(site):
        if name in found:
            yield found[name], expected.get(name)


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
    if len(known) < len(LENGTHS) or known[-1] > SETTLED:
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
        for measured, expected in compared(candidate, draws=draws):
            one = found.setdefault(measured.quantity, Agreement())
            if expected is None:
                one.not_predicted += 1
            elif expected.confirmed(measured):
                one.agreed += 1
            else:
                one.wrong.append((str(number), text(measured, expected)))
    return found
