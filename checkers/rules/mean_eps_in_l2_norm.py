"""CD908 mean-eps-in-l2-norm: an l2 norm made of an rms norm, whose eps then counts once for each channel."""

import math

from checkers.finding import quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind

AMPLITUDE = 1e-3  # of the entries of a small key


def judge(site: Site) -> Outcome:
    """Where eps stands in the norm of the keys."""
    features, width = site.mixer.features, site.mixer.key_dim
    if features.norm != "l2":
        return Outcome("inapplicable", site.at("features.norm"), "no l2 norm")
    evidence = {"eps": quantity(features.eps, "of |k|^2"), "key_width": quantity(width, "channels")}
    if features.eps_kind == "sum" or features.eps == 0.0 or width == 1:
        reason = f"eps {features.eps:g} is added to the sum of squares"
        return Outcome("pass", site.at("features.eps_kind"), reason, evidence=evidence)
    effective = width * features.eps
    small = width * AMPLITUDE**2
    length = math.sqrt(small / (small + effective))
    return Outcome(
        "fail",
        site.at("features.eps_kind"),
        f"`eps_kind: mean` adds eps to the mean of {width} squares, which is {effective:.3g} in the sum: keys with"
        f" entries of {AMPLITUDE:g} come out with length {length:.3f}, not 1. The published kernels add it to the sum.",
        kind=Kind.NOTE,
        evidence={
            **evidence,
            "effective_eps": quantity(effective, "of |k|^2"),
            "length_of_small_key": quantity(length, f"length, entries of {AMPLITUDE:g}"),
        },
        fix=setting("safe", {site.at("features.eps_kind"): "sum"}),
    )


rule = Rule(
    code="CD908",
    name="mean-eps-in-l2-norm",
    group="numerics",
    precision="very-high",
    what="`features.norm: l2` with `eps_kind: mean`: x / sqrt(|x|^2 + n eps).",
    why="Writing the l2 norm as an rms norm over sqrt(n) with the same eps makes eps n times larger. Small keys are"
    " then shorter than 1, an erase along them removes less than beta, and outputs differ from the kernel's.",
    exceptions=(
        "An rms norm adds eps to the mean by definition.",
        "eps 0, or one channel: sum and mean are the same.",
    ),
    fix="Set `eps_kind: sum`, or divide eps by the key width.",
    references=("arXiv 2406.06484, section 3.3", "fla.modules.l2norm"),
    passes=("catalogue:deltanet", {"mixer": {"features": {"norm": "l2", "eps": 0.0, "eps_kind": "mean"}}}),
    fails=(
        {
            "mixer": {
                "features": {"norm": "l2", "eps_kind": "mean"},
                "erase": {"direction": "key"},
                "scaling": {"gate": "tied_to_erase"},
            }
        },
    ),
    kinds=(Kind.NOTE,),
    fields_read=("features", "heads.state_dim"),
    check=per_mixer(judge),
)
