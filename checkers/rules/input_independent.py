"""CD203 input-independent: the coefficients are the same for every input."""

from checkers import zeros
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """P2: q, k, b and A all without the token."""
    mixer = site.mixer
    if not mixer.features.is_static:
        return Outcome("pass", site.at("features.map"), "queries and keys are computed from the token")
    if not mixer.is_time_invariant:
        return Outcome("pass", site.at("decay"), "the evolution depends on the token")
    if _gate_reads_input(site):
        return Outcome("pass", site.at("scaling.gate"), f"the scaling gate {mixer.scaling.gate} depends on the token")
    if mixer.io.value_gate != "none":
        return Outcome("pass", site.at("io.value_gate"), "the coefficients are fixed, but a gate on the value selects")
    return Outcome(
        "fail",
        site.at("features.map"),
        "queries and keys are static, the evolution is time-invariant and b_j is constant: alpha_ij depends on i - j"
        f" only and cannot select by content; {zeros.by_gate(mixer)}.",
        kind=Kind.NO_SUPPRESSION,
    )


def _gate_reads_input(site: Site) -> bool:
    match site.mixer.scaling.gate:
        case "complement" | "sqrt_1_minus_a2":
            return site.mixer.decay.reads_input
        case "none" | "index":
            return False
        case _:
            return True


rule = Rule(
    code="CD203",
    name="input-independent",
    group="suspect",
    precision="very-high",
    what="Static q and k with a time-invariant A_t and a constant b_j: the coefficients do not depend on the input.",
    why="The mixer is a fixed convolution. It cannot pick tokens by content and fails selective copying, however long"
    " its memory is.",
    exceptions=(
        "A multiplicative gate on the value, or an input-dependent gate or decay, makes the mixer selective.",
        "A gate after the mixer (`io.gate`) does not: the coefficients stay fixed.",
    ),
    fix="Compute k, b_j or A_t from the token, or gate the value (`io.value_gate: sigmoid`).",
    references=("arXiv 2312.00752, section 3.1", "arXiv 2510.09389, principle 2"),
    passes=({"mixer": {"features": {"map": "identity"}}}, "catalogue:mamba", "catalogue:rg_lru"),
    fails=("catalogue:s4d", "catalogue:lru_s5"),
    kinds=(Kind.NO_SUPPRESSION,),
    fields_read=("features.map", "decay.source", "rotation.source", "erase", "scaling.gate", "io.value_gate"),
    check=per_mixer(judge),
)
