"""CD402 commuting-transitions: the order of the steps does not matter to what is kept."""

from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """P4 per layer: scalar, diagonal and rotation parts commute; an input-dependent erase does not."""
    mixer = site.mixer
    if not mixer.is_finite_memory:
        return Outcome("inapplicable", site.at("readout"), "no linear recurrence: keys are kept, not transformed")
    if not mixer.erase.is_identity:
        return Outcome("pass", site.at("erase"), "erase directions depend on the token, so the steps do not commute")
    if mixer.lift.kind in ("momentum", "fenwick"):
        return Outcome("unknown", site.at("lift"), f"not derived for `lift: {mixer.lift.kind}`")
    return Outcome(
        "fail",
        site.at("decay"),
        f"transitions commute ({_operations(site)}): in this layer the order of the tokens between two positions does"
        " not change what happens to a key, so no order-sensitive group is tracked.",
        kind=Kind.OPERATIONS,
    )


def _operations(site: Site) -> str:
    mixer = site.mixer
    parts = []
    if mixer.lift.kind == "shift":
        parts.append("a shift by one position")
    if not mixer.decay.is_identity:
        parts.append("one common scale" if mixer.decay.granularity == "scalar" else "a scale per channel")
    if not mixer.rotation.is_identity:
        parts.append("a phase per pair")
    return " and ".join(parts) or "A_t = I"


rule = Rule(
    code="CD402",
    name="commuting-transitions",
    group="advice",
    precision="high",
    what="A_t is built from scalar or diagonal decays and rotations only: all transitions commute.",
    why="A product of commuting matrices forgets the order of its factors, so one layer cannot follow a permutation"
    " group such as S3.",
    exceptions=(
        "The statement is per layer: depth, convolutions and readouts between layers can add order.",
        "Non-commuting is not sufficient: with one reflection per token a layer reaches limited groups only.",
    ),
    fix="Add an erase along a token's key (delta rule), with rank >= 2 and gain to 2 for non-solvable groups.",
    references=("arXiv 2404.08819", "arXiv 2411.12537", "arXiv 2502.10297"),
    passes=("catalogue:gated_deltanet",),
    fails=("catalogue:mamba2", "catalogue:gla"),
    kinds=(Kind.OPERATIONS,),
    fields_read=("readout", "decay", "rotation", "erase", "lift"),
    check=per_mixer(judge),
)
