"""CD201 fragile-zero-set: the readout can be zero only at isolated scores, so a key is hard to switch off."""

from checkers import scores, zeros
from checkers.finding import quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from checkers.zeros import Suppression


def judge(site: Site) -> Outcome:
    """P2: near-zero fraction of phi at spreads 1, 4 and 16, and the gates that may stand in for it."""
    limits = site.thresholds.fragile_zero_set
    found = zeros.selectivity(scores.effective_readout(site.mixer), limits)
    numbers = ", ".join(
        f"f({spread:g}) = {share:.3f}" for spread, share in zip(zeros.SPREADS, found.fractions, strict=True)
    )
    by_gate = zeros.by_gate(site.mixer)
    if found.suppression is not Suppression.FRAGILE:
        return Outcome("pass", site.at("readout"), f"by readout: {found.suppression} ({numbers}); {by_gate}")
    has_gate = bool(zeros.gates(site.mixer))
    where = (
        "positive features meet in zero only on disjoint supports"
        if site.mixer.features.is_nonnegative
        else ("zero only on a thin set of keys")
    )
    return Outcome(
        "fail",
        site.at("readout"),
        f"by readout: fragile, {where} ({numbers}); {by_gate}.",
        kind=Kind.FRAGILE_WITH_GATE if has_gate else Kind.FRAGILE_WITHOUT_GATE,
        evidence={
            f"near_zero_fraction_at_{spread:g}": quantity(share)
            for spread, share in zip(zeros.SPREADS, found.fractions, strict=True)
        }
        | {"gates": quantity(", ".join(zeros.gates(site.mixer)) or "none")},
        assumptions=(f"scores are N(0, s^2) with s = 1, 4, 16; near zero is |phi| <= {limits.near_zero:g} E|phi|",),
    )


rule = Rule(
    code="CD201",
    name="fragile-zero-set",
    group="advice",
    precision="high",
    what="The readout is nearly zero on a thin set of scores only (f(s) < 0.02 at s = 1 and 4, f(16) < 0.3).",
    why="To ignore a key the model must place its score exactly on a zero of phi. A half-line of zeros (exponential,"
    " ReLU, sigmoid) is easy to hit and stays hit under noise; a hyperplane of zeros (identity) is not.",
    exceptions=(
        "An input-dependent b_j or A_t that can reach 0, or a gate on the value, selects instead: reported as"
        " `by gate`.",
        "The near-zero fraction does not depend on the score scale for homogeneous readouts.",
    ),
    fix="Use a readout with a half-line of zeros, or add a gate: `scaling.gate`, an input decay, `io.value_gate`.",
    references=("arXiv 2510.09389, principle 2",),
    passes=(
        {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "relu"}}},
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 1.0]}}},
    ),
    fails=({"mixer": {"readout": {"kind": "identity"}}}, "catalogue:linear_elu_norm"),
    kinds=(
        Kind.FRAGILE_WITH_GATE,
        Kind.FRAGILE_WITHOUT_GATE,
    ),
    fields_read=("readout", "features.map", "scaling.gate", "decay", "erase.gain", "io.value_gate", "target.needs"),
    check=per_mixer(judge),
)
