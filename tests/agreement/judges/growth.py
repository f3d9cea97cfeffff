"""P6: the output gain, steps that expand, eta near zero, exponents that overflow."""

import math
from collections.abc import Iterator

from designspace.candidate import Candidate
from tests.agreement.judge import Found, Judge, Reading, band, ends, fails_where, measured, missing, mixers, steered
from workers.probes.reached_steps import WIDTH

LENGTH = 64  # that `growth` probes
GROWTH_DRAWS = 6
RAISED = 4.0
GAIN_TOLERANCE = 0.15
GROWING = 0.4  # slope of log gain against log length
ROUNDING = 1e-6
GONE = 1e-12  # |eta| that has reached 0
LOG_MAX = {"float16": 11.09, "bfloat16": 88.7, "float32": 88.7, "float64": 709.8}
BARE = {"normalization": {"kind": "none", "factor": 1.0}, "io": {"output_norm": "none"}}


def numerator_grows(found: Found) -> Reading:
    """CD601: output rms over value rms of 4 or more for heads at an end of the initial range.

    Where eta divides the row, it has to grow with the length as well.
    """
    starts = [
        one for one in (found, *at_ends(found.candidate)) if {"output_gain", "output_gain_slope"} <= set(one.mixer)
    ]
    if not starts:
        return missing("output_gain")
    largest = max(starts, key=lambda one: one.mixer["output_gain"].value)
    gain, slope = largest.mixer["output_gain"], largest.mixer["output_gain_slope"]
    text = f"gain {gain.value:.4g} ± {gain.uncertainty:.2g}, slope {slope.value:.3g} ± {slope.uncertainty:.2g}"
    if found.spec.io.output_norm != "none":
        return Reading("pass", f"{text} before the output norm")
    verdict = band(gain.value, -math.inf, RAISED, gain.uncertainty + GAIN_TOLERANCE * gain.value)
    if found.spec.normalization.kind == "none":
        return Reading(verdict, text)
    grows = slope.value - slope.uncertainty > GROWING
    return Reading("fail" if grows and verdict == "fail" else "pass", text)


def at_ends(candidate: Candidate) -> Iterator[Found]:
    """The gains of the same mixer with all heads at one end of its initial range."""
    for start in ends(candidate):
        yield measured(start, probes=("growth",), draws=GROWTH_DRAWS)


def expands(found: Found) -> Reading:
    """CD602: a step that inputs reach has a singular value above 1."""
    norm = found.value("reached_step_norm")
    if norm is None:
        return missing("reached_step_norm")
    features, text = found.spec.features, f"largest singular value reached {norm:.6g}"
    bounded = features.norm in ("l2", "sum") or features.map == "softmax_pm" or found.spec.erase.direction == "free"
    if norm <= 1.0 + ROUNDING and not found.spec.erase.is_identity and not bounded and found.spec.key_dim > WIDTH:
        return Reading("undecided", f"{text}, with keys of {WIDTH} channels, whose length grows with their number")
    return fails_where(norm > 1.0 + ROUNDING, text)


def vanishes(found: Found) -> Reading:
    """CD603: eta reaches 0 for some input, or the sum in it changes its sign."""
    size, row_sum = found.value("reached_eta"), found.value("reached_row_sum")
    if size is None or row_sum is None:
        return missing("reached_eta")
    signed = row_sum < -GONE and found.spec.normalization.kind in ("sum", "sum_with_sink")
    return fails_where(signed or size < GONE, f"smallest |eta| reached {size:.3g}, smallest row sum {row_sum:.3g}")


def overflows(found: Found) -> Reading:
    """CD604: an exponent passes the limit of the format of the scores."""
    spec = found.spec
    limit = LOG_MAX[spec.execution.dtype.scores]
    exponent = found.value("reached_exponent")
    if exponent is None:
        return missing("reached_exponent")
    return fails_where(exponent > limit, f"largest exponent reached {exponent:.4g}, the format holds {limit:g}")


JUDGES = {
    "numerator-grows": Judge(
        numerator_grows,
        ("growth",),
        draw=mixers(seq_len=LENGTH),
        steers=steered(BARE, seq_len=LENGTH),
        draws=GROWTH_DRAWS,
    ),
    "evolution-expands": Judge(
        expands,
        ("reached_steps",),
        steers=steered(
            {"erase": {"direction": "key", "gain": (0.0, 1.0)}},
            {"decay": {"granularity": "diagonal", "range": (0.5, 1.25), "source": "input", "map": "sigmoid"}},
            {"erase": {"direction": "key", "gain": (0.0, 2.0), "per_channel": False}, "features": {"norm": "l2"}},
        ),
        draws=2,
    ),
    "normalization-can-vanish": Judge(
        vanishes,
        ("reached_scores",),
        steers=steered(
            {"normalization": {"kind": "sum"}},
            {"normalization": {"kind": "sum"}, "readout": {"kind": "relu"}},
            {"normalization": {"kind": "sum"}, "features": {"map": "elu+1"}},
        ),
        draws=2,
    ),
    "stabiliser-missing": Judge(
        overflows,
        ("reached_scores",),
        steers=steered(
            {"readout": {"kind": "exponential"}},
            {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}},
            {"scaling": {"gate": "exp", "where": "score"}},
        ),
        draws=2,
    ),
}
