"""CD803 steep-square-root-gate: the derivative of b = sqrt(1 - a^2) has no bound near a = 1."""

import math

from checkers.finding import quantity
from checkers.remedies import lasting_factor, narrowed_decay
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """|db/da| = a / sqrt(1 - a^2) at the upper end of the declared and of the initial range."""
    mixer = site.mixer
    if mixer.scaling.gate != "sqrt_1_minus_a2":
        return Outcome("inapplicable", site.at("scaling.gate"), "the gate is not a square root")
    if mixer.decay.source == "constant":
        return Outcome("pass", site.at("decay.source"), "the decay is constant: nothing is differentiated")
    steepest = slope(mixer.decay.hull[1])
    if steepest <= site.thresholds.steep_square_root_gate.slope:
        evidence = {"steepest_slope": quantity(steepest, "per unit of a")}
        return Outcome("pass", site.at("decay.range"), f"|db/da| stays below {steepest:.3g}", evidence=evidence)
    initial = mixer.decay.initial_range
    evidence = {
        "steepest_slope": quantity(steepest, "per unit of a"),
        "largest_factor": quantity(mixer.decay.hull[1], "per step"),
    }
    start = ""
    if initial is not None:
        evidence["steepest_initial_slope"] = quantity(slope(initial[1]), "per unit of a")
        start = f" ({slope(initial[1]):.3g} at the start)"
    limit = "without a bound" if math.isinf(steepest) else f"to {steepest:.3g}"
    return Outcome(
        "fail",
        site.at("scaling.gate"),
        f"b = sqrt(1 - a^2): |db/da| = a / sqrt(1 - a^2) grows {limit} on the allowed range of a{start}.",
        kind=Kind.NUMERICS,
        evidence=evidence,
        assumptions=("the gradient of the root is not clipped; a takes the upper end of its declared range",),
        fix=narrowed_decay(
            site,
            high=1.0 - 0.5 / site.thresholds.steep_square_root_gate.slope**2,
            start=lasting_factor(site.target.seq_len, site.thresholds.short_horizon.wanted_fraction),
        ),
    )


def slope(factor: float) -> float:
    """a / sqrt(1 - a^2)."""
    return factor / math.sqrt(1.0 - factor**2) if factor < 1.0 else math.inf


rule = Rule(
    code="CD803",
    name="steep-square-root-gate",
    group="numerics",
    precision="high",
    what="The gate sqrt(1 - a^2) is used where a may come so close to 1 that its derivative exceeds 1,000.",
    why="The derivative is -71 at a = 0.9999 and -2,236 at 1 - 1e-7: one token with a closed gate can carry the"
    " gradient of the batch.",
    exceptions=(
        "The published code clips the gradient of the root at 1,000, which a spec cannot say: suppress with that"
        " reason.",
        "A constant decay is not differentiated.",
    ),
    fix="Bound `decay.range` by 1 - 5e-7, or clip the gradient of the root.",
    references=("arXiv 2402.19427, appendix A",),
    passes=(
        {
            "mixer": {
                "decay": {"granularity": "scalar", "map": "rglru", "range": [0.0, 0.999], "initial": [0.9, 0.99]},
                "scaling": {"gate": "sqrt_1_minus_a2"},
            }
        },
    ),
    fails=("catalogue:rg_lru",),
    kinds=(Kind.NUMERICS,),
    fields_read=("scaling.gate", "decay.range", "decay.initial", "decay.source"),
    check=per_mixer(judge),
)
