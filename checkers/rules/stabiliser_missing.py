"""CD604 stabiliser-missing: an exponential may overflow, and nothing subtracts a maximum or bounds it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from checkers import bounds
from checkers.finding import Fix, Quantity, quantity, setting
from checkers.overflow import LOG_MAX, overflow_scores
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.mixer import MixerSpec

CAPS = (15.0, 10.0)  # of an exponent; the second for float16, which ends at 11.09
SUBTRACTED = ("row_max", "running_max")
ASSUMPTIONS = ("every factor of the exponent at its declared bound; training may reach any value that nothing bounds",)


@dataclass(frozen=True, slots=True)
class Part:
    """An exponential of the mixer.

    Attributes:
        name: for a message.
        field: where it is capped.
        bound: of its argument, infinite where nothing bounds it.
        cancels: a common factor of the row is divided out again, so that a maximum may be subtracted.
    """

    name: str
    field: str
    bound: float
    cancels: bool


def judge(context: Context) -> Iterable[Outcome]:
    """P6.4: the largest exponent that the spec allows against what the number format holds."""
    for site in context.sites:
        parts = exponentials(site)
        if not parts:
            yield Outcome("inapplicable", site.at("readout"), "no exponential in the readout or the scaling gate")
        for part in parts:
            yield judge_part(site, part)


def exponentials(site: Site) -> tuple[Part, ...]:
    """The exponential readout and the exponential gate of a mixer."""
    mixer = site.mixer
    summed = mixer.normalization.sums_the_row
    found = []
    if mixer.readout.kind == "exponential":
        high = min(bounds.score_interval(mixer, site.target.seq_len)[1], mixer.readout.cap)
        found.append(Part("the exponential readout", "readout.softcap", high, summed))
    if mixer.scaling.gate in ("exp", "exp_key"):
        cap = math.inf if mixer.scaling.cap is None else mixer.scaling.cap
        passed_on = readouts.homogeneous_degree(mixer.readout) is not None  # phi(c z) = c^d phi(z)
        found.append(
            Part(f"the {mixer.scaling.gate} gate", "scaling.cap", cap, (summed or site.norm_divides_row) and passed_on)
        )
    return tuple(found)


def judge_part(site: Site, part: Part) -> Outcome:
    """The answer on one exponential."""
    mixer = site.mixer
    limit, stabiliser = LOG_MAX[mixer.execution.dtype.scores], mixer.execution.stabiliser
    if part.bound <= limit:
        reason = f"the exponent of {part.name} stays below {part.bound:.3g}, the format holds {limit:.3g}"
        return Outcome("pass", site.at(part.field), reason, evidence=_evidence(part))
    if stabiliser in SUBTRACTED and part.cancels:
        return Outcome(
            "pass",
            site.at("execution.stabiliser"),
            f"`stabiliser: {stabiliser}` keeps the exponents of {part.name} at or below 0",
            evidence=_evidence(part),
        )
    if stabiliser == "floor" and part.cancels:
        return Outcome(
            "fail",
            site.at("execution.stabiliser"),
            f"a fixed floor shifts {part.name}, but exp(-m) can itself overflow; {overflow_scores()}.",
            kind=Kind.FLOOR_STABILISER,
            evidence=_evidence(part),
            assumptions=ASSUMPTIONS,
            fix=_subtract_maximum(site),
        )
    missing = (
        "has no stabiliser and no bound" if stabiliser == "none" else f"has no bound, and {_why_kept(mixer, part)}"
    )
    return Outcome(
        "fail",
        site.at("execution.stabiliser" if stabiliser == "none" else "normalization.kind"),
        f"{part.name} {missing}: {overflow_scores()}.",
        kind=Kind.NO_STABILISER,
        evidence=_evidence(part),
        assumptions=ASSUMPTIONS,
        fix=_subtract_maximum(site) if part.cancels else _cap(site, part, limit),
    )


def _why_kept(mixer: MixerSpec, part: Part) -> str:
    """Why a maximum that is subtracted does not cancel: that of the scores against a row sum, that of the gates against
    an output norm as well, where phi passes a factor on.
    """
    of_gate = part.field == "scaling.cap"
    if of_gate and (mixer.normalization.sums_the_row or mixer.io.norm_is_per_head):
        if readouts.homogeneous_degree(mixer.readout) is None:
            return "phi does not pass a factor of the score on, so no maximum cancels"
        return "the norm sees more than this row, so no maximum cancels"
    return "eta has no row sum in which a maximum cancels"


def _evidence(part: Part) -> dict[str, Quantity]:
    return {f"overflow_score_{dtype}": quantity(limit, "score") for dtype, limit in LOG_MAX.items()} | {
        "largest_exponent": quantity(part.bound, "score")
    }


def _subtract_maximum(site: Site) -> Fix:
    """The same function, computed with exponents at or below 0."""
    value = "row_max" if site.mixer.readout.kind == "exponential" else "running_max"
    return setting("safe", {site.at("execution.stabiliser"): value})


def _cap(site: Site, part: Part, limit: float) -> Fix:
    """A soft cap where no maximum cancels: the one of xLSTM-7B (arXiv 2503.13427), or what float16 holds."""
    return setting("unsafe", {site.at(part.field): next(cap for cap in CAPS if cap < limit)})


rule = Rule(
    code="CD604",
    name="stabiliser-missing",
    group="proof",
    precision="very-high",
    what="An exponential readout or gate without row maximum, running maximum, softcap or a bound on its argument.",
    why="exp overflows at 11.09 in float16 and 88.7 in bfloat16 and float32. One score of 151 (seen at n = 128) makes"
    " the row inf / inf.",
    exceptions=(
        "The maximum of the scores cancels against a row sum: `row_max` is the default there. That of exponential gates"
        " cancels against a per-head output norm as well.",
        "A softcap or a qk-norm with a fixed gain bounds the score; the bound is compared with the format.",
        "Capped gates (xLSTM-7B: 15) stay below float32's limit.",
        "A falling distance bias lowers scores only; learned norms, tables and rising biases bound nothing.",
        "A norm per head cancels no maximum where a D skip, a bonus or a branch that shares the values is added first.",
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
        "features",
        "decay",
        "erase",
        "rotation",
        "shear",
        "lift",
        "support",
        "heads",
        "normalization.kind",
        "io.output_norm",
        "io.gate",
        "io.order",
        "execution.stabiliser",
        "execution.dtype.scores",
        "target.seq_len",
    ),
    check=judge,
)
