"""CD901 future-leak: features normalised over the sequence read later tokens under a causal mask."""

from checkers.finding import setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """Causality of the feature map."""
    mixer = site.mixer
    if mixer.support.mask == "none":
        return Outcome("inapplicable", site.at("support.mask"), "the mixer is bidirectional on purpose")
    if mixer.features.map_over == "features":
        return Outcome("pass", site.at("features.map_over"), "q and k of a token are computed from that token")
    return Outcome(
        "fail",
        site.at("features.map_over"),
        f"`map_over: sequence` divides keys by a sum over all positions: under `mask: {mixer.support.mask}` every"
        " coefficient depends on later tokens.",
        kind=Kind.BROKEN,
        fix=setting("unsafe", {site.at("features.map_over"): "features"}),
    )


rule = Rule(
    code="CD901",
    name="future-leak",
    group="proof",
    precision="very-high",
    what="`features.map_over: sequence` with a causal or strict mask.",
    why="A softmax of the keys over time (efficient attention) sees the whole sequence. Training loss looks excellent"
    " and generation fails.",
    exceptions=("In a bidirectional mixer it is sound.",),
    fix="Normalise over the features of each token, or divide by a running sum in eta.",
    references=("arXiv 1812.01243",),
    passes=({"mixer": {"features": {"map": "softmax_pm"}}},),
    fails=({"mixer": {"features": {"map": "softmax_pm", "map_over": "sequence"}}},),
    kinds=(Kind.BROKEN,),
    fields_read=("features.map_over", "support.mask"),
    check=per_mixer(judge),
)
