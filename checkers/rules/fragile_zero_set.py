"""CD201 fragile-zero-set: the readout can be zero only at isolated scores, so a key is hard to switch off."""

from checkers import scores, zeros
from checkers.bounds import scores_are_nonnegative
from checkers.finding import quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.rules import normalization_can_vanish
from checkers.severity import Kind
from checkers.zeros import Suppression

VANISHES = "CD603"
NEEDS = frozenset({"recall", "copying"})  # of a target that lives on picking single keys


def judge(site: Site) -> Outcome:
    """P2: near-zero fraction of phi at spreads 1, 4 and 16, and the gates that may stand in for it."""
    mixer, limits = site.mixer, site.thresholds.fragile_zero_set
    if zeros.is_input_independent(mixer):
        return Outcome("inapplicable", site.at("features.map"), "no score depends on the token: CD203 judges that")
    if zeros.moves_expanded_score(mixer):
        reason = "A_t moves the terms of the expanded score apart, so phi is no function of q . k"
        return Outcome("unknown", site.at("features.map"), reason)
    found = zeros.selectivity(scores.effective_readout(mixer), limits)
    gates = zeros.gates(mixer)
    evidence = {**found.evidence, "gates": quantity(", ".join(gates) or "none")}
    by_gate = zeros.by_gate(mixer)
    if found.suppression is not Suppression.FRAGILE:
        reason = f"by readout: {found.suppression} ({found.text}); {by_gate}"
        return Outcome("pass", site.at("readout"), reason, evidence=evidence)
    positive = scores_are_nonnegative(mixer) and mixer.shear.is_identity
    where = "only on disjoint supports of positive features" if positive else "on a thin set"
    needed = not NEEDS.isdisjoint(site.target.needs)
    told = not needed and normalization_can_vanish.judge(site).kind is Kind.NOTE
    by_readout = None if told else Kind.FRAGILE_WITHOUT_GATE
    besides_gate = Kind.FRAGILE_WITH_GATE if needed else None
    return Outcome(
        "pass" if gates else "fail",
        site.at("readout"),
        f"by readout: fragile, phi is nearly zero {where} ({found.text}); {by_gate}.",
        kind=besides_gate if gates else by_readout,
        evidence=evidence,
        assumptions=(f"scores are N(0, s^2) with s = 1, 4, 16; near zero is |phi| <= {limits.near_zero:g} E|phi|",),
        told_by=VANISHES if told else None,
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
        "An input-dependent b_j or A_t that can reach 0, or a gate on the value, selects instead: the rule passes by"
        " gate, with a remark where `target.needs` has recall or copying.",
        "Where phi(0) is not 0, a gate on the score switches nothing off and does not count; a forget gate under an"
        " exponential does.",
        "Where only eps keeps a sum of positive features from 0, CD603 tells the cause, nearly orthogonal features: a"
        " verdict without a finding, unless `target.needs` has recall or copying.",
        "Coefficients that do not depend on the token at all are the business of CD203.",
        "The near-zero fraction does not depend on the score scale for homogeneous readouts.",
    ),
    fix="Use a readout with a half-line of zeros, or add a gate: `scaling.gate`, an input decay, `io.value_gate`.",
    references=("arXiv 2510.09389, principle 2",),
    passes=(
        {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "relu"}}},
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 1.0]}}},
        "catalogue:gla",
    ),
    fails=({"mixer": {"readout": {"kind": "identity"}}}, "catalogue:dsf_norm"),
    kinds=(
        Kind.FRAGILE_WITH_GATE,
        Kind.FRAGILE_WITHOUT_GATE,
    ),
    fields_read=(
        "readout",
        "features",
        "scaling.gate",
        "scaling.cap",
        "decay",
        "rotation.source",
        "erase",
        "shear",
        "lift.kind",
        "io.value_gate",
        "normalization",
        "target.needs",
    ),
    check=per_mixer(judge),
)
