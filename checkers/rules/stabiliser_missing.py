"""CD604 stabiliser-missing: an exponential may overflow, and nothing subtracts a maximum or bounds it."""

import math

from checkers.finding import Fix, Quantity, quantity, setting
from checkers.overflow import LOG_MAX, overflow_scores
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.mixer import MixerSpec

CAPS = (15.0, 10.0)  # of an exponent; the second for float16, which ends at 11.09


def judge(site: Site) -> Outcome:
    """P6.4: the largest exponent that the spec allows against what the number format holds."""
    mixer = site.mixer
    what = _exponential_part(mixer)
    if what is None:
        return Outcome("inapplicable", site.at("readout"), "no exponential in the readout or the scaling gate")
    limit = LOG_MAX[mixer.execution.dtype.scores]
    bound = largest_exponent(mixer)
    if bound <= limit:
        return Outcome(
            "pass", site.at("readout"), f"the exponent stays below {bound:.3g}, the format holds {limit:.3g}"
        )
    stabiliser, cancels = mixer.execution.stabiliser, _maximum_cancels(mixer)
    if stabiliser in ("row_max", "running_max") and cancels:
        return Outcome(
            "pass", site.at("execution.stabiliser"), f"`stabiliser: {stabiliser}` keeps exponents at or below 0"
        )
    if stabiliser == "floor" and cancels:
        return Outcome(
            "fail",
            site.at("execution.stabiliser"),
            f"a fixed floor shifts {what}, but exp(-m) can itself overflow; {overflow_scores()}.",
            kind=Kind.FLOOR_STABILISER,
            evidence=_evidence(bound),
            fix=_subtract_maximum(site),
        )
    missing = (
        "has no stabiliser and no bound"
        if stabiliser == "none"
        else "has no bound, and eta has no row sum in which a maximum cancels"
    )
    return Outcome(
        "fail",
        site.at("execution.stabiliser" if stabiliser == "none" else "normalization.kind"),
        f"{what} {missing}: {overflow_scores()}.",
        kind=Kind.NO_STABILISER,
        evidence=_evidence(bound),
        fix=_subtract_maximum(site) if cancels else _cap(site, limit),
    )


def _exponential_part(mixer: MixerSpec) -> str | None:
    if mixer.readout.kind == "exponential":
        return "the exponential readout"
    return f"the {mixer.scaling.gate} gate" if mixer.scaling.gate in ("exp", "exp_key") else None


def largest_exponent(mixer: MixerSpec) -> float:
    """Upper bound of the argument of the exponential; infinite where nothing bounds it."""
    if mixer.readout.kind != "exponential":
        return math.inf if mixer.scaling.cap is None else mixer.scaling.cap
    if mixer.readout.is_capped:
        return mixer.readout.cap
    growing = mixer.shear.sign == "increasing" or mixer.shear.source == "table" or mixer.scaling.learnable
    learned_norm = mixer.features.norm in ("rms_weighted", "layernorm")
    bound = mixer.product_bound
    gate_bounded = mixer.scaling.gate in ("none", "sigmoid", "index")
    if growing or learned_norm or bound is None or not gate_bounded:
        return math.inf
    base = 1.0 if mixer.scaling.where == "after" else mixer.base
    return base * bound


def _maximum_cancels(mixer: MixerSpec) -> bool:
    """A common factor of the row is divided out again: by the row sum, or by a norm of the output."""
    return mixer.normalization.sums_the_row or mixer.io.norm_is_per_head


def _evidence(bound: float) -> dict[str, Quantity]:
    return {f"overflow_score_{dtype}": quantity(limit) for dtype, limit in LOG_MAX.items()} | {
        "largest_exponent": quantity(bound)
    }


def _subtract_maximum(site: Site) -> Fix:
    """The same function, computed with exponents at or below 0."""
    value = "row_max" if site.mixer.readout.kind == "exponential" else "running_max"
    return setting("safe", {site.at("execution.stabiliser"): value})


def _cap(site: Site, limit: float) -> Fix:
    """A soft cap where no maximum cancels: the one of xLSTM-7B (arXiv 2503.13427), or what float16 holds."""
    cap = next(cap for cap in CAPS if cap < limit)
    field = "readout.softcap" if site.mixer.readout.kind == "exponential" else "scaling.cap"
    return setting("unsafe", {site.at(field): cap})


rule = Rule(
    code="CD604",
    name="stabiliser-missing",
    group="proof",
    precision="very-high",
    what="An exponential readout or gate without row maximum, running maximum, softcap or a bound on its argument.",
    why="exp overflows at 11.09 in float16 and 88.7 in bfloat16 and float32. One score of 151 (seen at n = 128) makes"
    " the row inf / inf.",
    exceptions=(
        "A maximum cancels against a row sum or a per-head output norm: `row_max` is the default there.",
        "A softcap or a qk-norm with a fixed gain bounds the score; the bound is compared with the format.",
        "Capped gates (xLSTM-7B: 15) stay below float32's limit.",
    ),
    fix="Set `execution.stabiliser: row_max` (or `running_max` in a recurrence), a softcap, or a cap on the gate.",
    references=("arXiv 2205.14135", "arXiv 2405.04517", "arXiv 2510.09389, principle 6"),
    passes=(
        {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}},
        {
            "mixer": {
                "readout": {"kind": "exponential", "softcap": 30.0},
                "normalization": {"kind": "sum"},
                "execution": {"stabiliser": "none"},
            }
        },
        "catalogue:mlstm_exp",
    ),
    fails=(
        {
            "mixer": {
                "readout": {"kind": "exponential"},
                "normalization": {"kind": "sum"},
                "execution": {"stabiliser": "none"},
            }
        },
        {
            "mixer": {
                "scaling": {"gate": "exp"},
                "normalization": {"kind": "max_abs_sum_1"},
                "execution": {"stabiliser": "none"},
            }
        },
    ),
    kinds=(
        Kind.FLOOR_STABILISER,
        Kind.NO_STABILISER,
    ),
    fields_read=(
        "readout",
        "scaling",
        "features.norm",
        "features.gain",
        "shear",
        "normalization.kind",
        "execution.stabiliser",
        "execution.dtype.scores",
    ),
    check=per_mixer(judge),
)
