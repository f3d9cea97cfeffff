"""CD203 input-independent: the coefficients are the same for every input."""

from collections.abc import Iterable

from checkers import zeros
from checkers.finding import quantity, setting
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace.mixer import MixerSpec


def judge(context: Context) -> Iterable[Outcome]:
    """P2: q, k, b and A all without the token; less serious where another mixer of the stack selects."""
    fixed = {site.path for site in context.sites if zeros.is_input_independent(site.mixer)}
    other = next((site.path for site in context.sites if site.path not in fixed), None)
    return [_fixed(site, other) if site.path in fixed else _selects(site) for site in context.sites]


def _selects(site: Site) -> Outcome:
    mixer = site.mixer
    if not mixer.features.is_static:
        return Outcome("pass", site.at("features.map"), "queries and keys are computed from the token")
    if mixer.io.value_gate != "none":
        return Outcome("pass", site.at("io.value_gate"), "the coefficients are fixed, but a gate on the value selects")
    return Outcome("pass", site.at("scaling.gate"), "queries and keys are static, but b_j or A_t depends on the token")


def _fixed(site: Site, other: str | None) -> Outcome:
    elsewhere = f" Another mixer selects ({other})." if other else ""
    return Outcome(
        "fail",
        site.at("features.map"),
        f"queries and keys are static, the evolution is time-invariant and b_j is constant: alpha_ij depends on"
        f" {_depends_on(site.mixer)} only, and no content is selected; {zeros.by_gate(site.mixer)}.{elsewhere}",
        kind=Kind.NO_SUPPRESSION,
        evidence={"input_dependent_parts": quantity(0, "of q, k, A, b and the value gate")},
        lowered=other is not None,
        fix=setting("display", {site.at("io.value_gate"): "sigmoid"}),
    )


def _depends_on(mixer: MixerSpec) -> str:
    """What is left for the coefficients to depend on."""
    places = "i and j" if mixer.scaling.gate == "index" or mixer.support.chunk is not None else "i - j"
    return f"{places} (up to one factor per row)" if mixer.normalization.kind == "learned" else places


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
        "In a hybrid whose other mixers depend on the token the model can select: one step less serious.",
    ),
    fix="Compute k, b_j or A_t from the token, or gate the value (`io.value_gate: sigmoid`).",
    references=("arXiv 2312.00752, section 3.1", "arXiv 2510.09389, principle 2"),
    passes=({"mixer": {"features": {"map": "identity"}}}, "catalogue:mamba", "catalogue:rg_lru"),
    fails=("catalogue:s4d", "catalogue:lru_s5"),
    kinds=(Kind.NO_SUPPRESSION,),
    fields_read=(
        "features.map",
        "decay",
        "rotation.source",
        "erase",
        "shear.source",
        "lift.kind",
        "scaling.gate",
        "io.value_gate",
        "normalization.kind",
        "support.chunk",
        "blocks",
    ),
    check=judge,
)
