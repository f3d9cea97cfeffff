"""CD806 large-output-norm-eps: the eps of the output norm is not small against what the norm divides."""

import math

from checkers import scores
from checkers.finding import quantity, setting
from checkers.growth import output_gain
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.mixer import MixerSpec
from designspace.spec import LARGEST, SMALLEST

SHARE = 0.1  # of the mean square: eps then takes 5 % of the scale, and scaling the input changes the output
SMALLER = 1e-3  # of the mean square, that a fix writes


def judge(site: Site) -> Outcome:
    """eps against the smallest mean square of the output, for values of rms 1."""
    mixer, eps = site.mixer, site.mixer.io.norm_eps
    if mixer.io.output_norm == "none":
        return Outcome("inapplicable", site.at("io.output_norm"), "no norm of the output")
    if not _score_decides(mixer):
        return Outcome(
            "inapplicable", site.at("io.output_norm"), "more than the scores decides the scale of the output"
        )
    square = _output_square(site)
    if square is None:
        return Outcome("unknown", site.at("io.norm_eps"), "the scale of the output is not derived")
    share = eps / square if square > 0.0 else math.inf
    lost = 1.0 - 1.0 / math.sqrt(1.0 + share)
    evidence = {
        "output_mean_square": quantity(square, "of the mean square of the values"),
        "eps": quantity(eps),
        "share": quantity(share),
        "scale_lost": quantity(lost),
    }
    if share <= SHARE:
        reason = f"eps is {share:.2g} of the mean square of the output"
        return Outcome("pass", site.at("io.norm_eps"), reason, evidence=evidence)
    return Outcome(
        "fail",
        site.at("io.norm_eps"),
        f"eps = {eps:.2g} is not small against the output, whose mean square starts at {square:.2g}: the norm loses"
        f" {lost:.0%} of the scale, and a constant factor before it is not void.",
        kind=Kind.NOTE,
        evidence=evidence,
        assumptions=("values of rms 1, scores as they start; the first token (behind an erase: the last)",),
        fix=setting("unsafe", {site.at("io.norm_eps"): float(f"{max(SMALLER * square, SMALLEST):.1g}")}),
    )


def _score_decides(mixer: MixerSpec) -> bool:
    """The output is a plain sum of scores times values, which start as declared and alike in every head.

    A D skip or a bonus adds the value itself, a row sum makes averages (max(|sum|, 1) is 1 for small scores), a gate
    that declares a start of its own starts small on purpose, and keys 1 - a differ from head to head.
    """
    divided = mixer.normalization.kind in ("none", "max_abs_sum_1") and mixer.readout.kind == "identity"
    bare = mixer.support.diagonal == "none" and mixer.io.order == "norm_then_gate"
    alike = mixer.features.map != "one_minus_decay"
    free = mixer.scaling.gate in ("exp", "exp_key") or (
        mixer.scaling.gate != "dt" and mixer.scaling.initial is not None
    )
    return divided and bare and alike and not free


def _output_square(site: Site) -> float | None:
    """Mean square of the output: of the first token, since sums only grow; with an erase at the target length."""
    mixer = site.mixer
    if not mixer.erase.is_identity:
        gain = output_gain(mixer, site.target.seq_len)
        return gain.highest**2 if gain is not None and gain.highest < LARGEST else None
    after = mixer.base if mixer.scaling.where == "after" else 1.0
    first = scores.score_moments(mixer)
    return None if first is None else first.square * (after / mixer.normalization.factor) ** 2


rule = Rule(
    code="CD806",
    name="large-output-norm-eps",
    group="advice",
    precision="medium",
    what="The eps of the output norm is more than a tenth of the mean square of the output.",
    why="A norm makes constant factors void only up to its eps. Where a rescaled state makes outputs tiny, 1e-5 is not"
    " small: parallel and recurrent forms that scale differently then disagree.",
    exceptions=(
        "Row sums, a D skip, a bonus and gates with a declared start decide the output themselves: not judged.",
        "Info: an eps of this size may be chosen on purpose.",
    ),
    fix="Lower `io.norm_eps`, or let the scores start near 1.",
    references=("arXiv 2307.08621, section 2.3",),
    passes=({"mixer": {"io": {"output_norm": "head_rms"}}}, "catalogue:retnet"),
    fails=({"mixer": {"scaling": {"base": 1e-4}, "io": {"output_norm": "head_rms"}}},),
    kinds=(Kind.NOTE,),
    fields_read=(
        "io",
        "features",
        "scaling",
        "normalization",
        "readout",
        "decay",
        "erase",
        "lift",
        "rotation",
        "support",
        "heads",
        "target.seq_len",
    ),
    check=per_mixer(judge),
)
