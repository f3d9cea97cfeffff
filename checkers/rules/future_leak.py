"""CD901 future-leak: features normalised over the sequence, or one bidirectional layer in a causal stack."""

from collections.abc import Iterable

from checkers.finding import quantity, setting
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind


def judge(context: Context) -> Iterable[Outcome]:
    """Causality of the masks of the stack, and of the feature map under a causal one."""
    if context.target.task == "set":
        reason = "`task: set` declares that order carries no meaning, so nothing is later"
        return [Outcome("inapplicable", site.path, reason) for site in context.sites]
    causal = sum(site.located.repeat for site in context.sites if site.mixer.support.mask != "none")
    both_ways = sum(site.located.repeat for site in context.sites if site.mixer.support.mask == "none")
    return [
        _unmasked(site, causal, both_ways) if site.mixer.support.mask == "none" else _features(site)
        for site in context.sites
    ]


def _unmasked(site: Site, causal: int, both_ways: int) -> Outcome:
    """A bidirectional mixer: the purpose of an encoder, a leak where most of the stack is causal."""
    if causal < both_ways:
        return Outcome("inapplicable", site.at("support.mask"), "the mixer is bidirectional on purpose")
    return Outcome(
        "fail",
        site.at("support.mask"),
        f"`mask: none` beside {causal} causal mixers: this one reads later tokens, and every layer after it sees them.",
        kind=Kind.BROKEN,
        evidence={
            "causal_mixers": quantity(causal, "mixers, repeats counted"),
            "bidirectional_mixers": quantity(both_ways, "mixers, repeats counted"),
        },
        fix=setting("unsafe", {site.at("support.mask"): "causal"}),
    )


def _features(site: Site) -> Outcome:
    mixer = site.mixer
    if not mixer.features.reads_sequence:
        return Outcome("pass", site.at("features.map_over"), "q and k of a token are computed from that token")
    return Outcome(
        "fail",
        site.at("features.map_over"),
        f"`map_over: sequence` divides keys by a sum over all positions: under `mask: {mixer.support.mask}` every"
        " coefficient depends on later tokens.",
        kind=Kind.BROKEN,
        evidence={"later_tokens": quantity(site.target.seq_len - 1, "tokens that the first coefficient depends on")},
        fix=setting("unsafe", {site.at("features.map_over"): "features"}),
    )


rule = Rule(
    code="CD901",
    name="future-leak",
    group="proof",
    precision="very-high",
    what="`features.map_over: sequence` with a causal or strict mask, or a mixer with `mask: none` in a causal stack.",
    why="A softmax of the keys over time (efficient attention) sees the whole sequence. Training loss looks excellent"
    " and generation fails.",
    exceptions=(
        "In a bidirectional stack (more mixers without a mask than with one) both are sound.",
        "`target.task: set` has no later tokens: not judged.",
        "`map_over` is about `softmax_pm`; other maps do not read it.",
        "An order of reading other than forward is CD907's.",
    ),
    fix="Normalise over the features of each token, or divide by a running sum in eta; give every mixer the mask.",
    references=("arXiv 1812.01243",),
    passes=({"mixer": {"features": {"map": "softmax_pm"}}},),
    fails=(
        {"mixer": {"features": {"map": "softmax_pm", "map_over": "sequence"}}},
        {"blocks": [{"repeat": 3, "mixer": {}}, {"mixer": {"support": {"mask": "none"}}}]},
    ),
    kinds=(Kind.BROKEN,),
    fields_read=("features.map", "features.map_over", "support.mask", "blocks", "target.seq_len", "target.task"),
    check=judge,
)
