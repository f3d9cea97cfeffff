"""P6: the output gain, steps that expand, eta near zero, exponents that overflow."""

import math
from collections.abc import Iterator

from designspace.candidate import Candidate, single
from tests.agreement.judge import Found, Judge, Reading, band, ends, fails_where, measured, missing, mixers, steered
from workers.probes.reached_steps import WIDTH

LENGTH = 64  # that `growth` probes
GROWTH_DRAWS = 6
SEARCHING = 8  # draws of extreme inputs
RAISED = 4.0
GAIN_TOLERANCE = 0.15
ROUNDING = 1e-6
SMALL = 1e-3  # |eta| that may be on its way there
GONE = 1e-12  # |eta| that has reached 0
NEAR = 0.125  # of what a format holds: inputs further out may pass it
LOG_MAX = {"float16": 11.09, "bfloat16": 88.7, "float32": 88.7, "float64": 709.8}
BARE = {"normalization": {"kind": "none", "factor": 1.0}, "io": {"output_norm": "none"}}


def numerator_grows(found: Found) -> Reading:
    """CD601: output rms over value rms of 4 or more for heads at an end of the initial range.

    What divides the row counts as its normalization whatever it leaves of the gain (theory, P6.1): not for a number.
    """
    if found.spec.normalization.kind != "none":
        return Reading("undecided", f"eta is {found.spec.normalization.kind}")
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
    return Reading(verdict, text)


def at_ends(candidate: Candidate) -> Iterator[Found]:
    """The gains of the same mixer with all heads at one end of its initial range and of its slopes."""
    spec = next(candidate.mixers()).mixer
    slopes = spec.shear.head_slopes(spec.heads.num_heads) if spec.shear.source == "constant" else ()
    starts = [*ends(candidate)] or [candidate] * bool(slopes)
    for start in starts:
        mixer = next(start.mixers()).mixer
        for slope in sorted({min(slopes), max(slopes)} if slopes else {0.0}):
            shear = mixer.shear.model_copy(update={"slopes": slope} if slopes else {})
            alone = single(mixer.model_copy(update={"shear": shear}), target=candidate.target)
            yield measured(alone, probes=("growth",), draws=GROWTH_DRAWS)


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
    text = f"smallest |eta| reached {size:.3g}, smallest row sum {row_sum:.3g}"
    signed = row_sum < -GONE and found.spec.normalization.kind in ("sum", "sum_with_sink")
    if not signed and (GONE <= size < SMALL or abs(row_sum) < GONE):
        return Reading("undecided", text)
    return fails_where(signed or size < GONE, text)


def overflows(found: Found) -> Reading:
    """CD604: an exponent passes the limit of the format of the scores."""
    spec = found.spec
    limit = LOG_MAX[spec.execution.dtype.scores]
    exponent = found.value("reached_exponent")
    if exponent is None:
        return missing("reached_exponent")
    text = f"largest exponent reached {exponent:.4g}, the format holds {limit:g}"
    if NEAR * limit < exponent <= limit:
        return Reading("undecided", text)
    return fails_where(exponent > limit, text)


JUDGES = {
    "numerator-grows": Judge(
        numerator_grows,
        ("growth",),
        draw=mixers(seq_len=LENGTH),
        steers=steered(BARE, seq_len=LENGTH),
        draws=GROWTH_DRAWS,
        longest=LENGTH,
    ),
    "evolution-expands": Judge(
        expands,
        ("reached_steps",),
        steers=steered(
            {"erase": {"direction": "key", "gain": (0.0, 1.0)}},
            {"decay": {"granularity": "diagonal", "range": (0.5, 1.25), "source": "input", "map": "sigmoid"}},
            {"erase": {"direction": "key", "gain": (0.0, 2.0), "per_channel": False}, "features": {"norm": "l2"}},
        ),
        draws=SEARCHING,
    ),
    "normalization-can-vanish": Judge(
        vanishes,
        ("reached_scores",),
        steers=steered(
            {"normalization": {"kind": "sum"}},
            {"normalization": {"kind": "sum"}, "readout": {"kind": "relu"}},
            {"normalization": {"kind": "sum"}, "features": {"map": "elu+1"}},
        ),
        draws=SEARCHING,
    ),
    "stabiliser-missing": Judge(
        overflows,
        ("reached_scores",),
        steers=steered(
            {"readout": {"kind": "exponential"}},
            {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}},
            {"scaling": {"gate": "exp", "where": "score"}},
        ),
        draws=SEARCHING,
    ),
}
