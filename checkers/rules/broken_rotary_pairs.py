"""CD904 broken-rotary-pairs: the rotated channels are not a whole number of pairs."""

from checkers.finding import quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind

ROUNDED = 0.1  # of a pair: a fraction written with three digits, such as 0.334 of 192 channels


def judge(site: Site) -> Outcome:
    """fraction times key width over 2 must be whole."""
    mixer, rotation = site.mixer, site.mixer.rotation
    if rotation.is_identity:
        return Outcome("inapplicable", site.at("rotation"), "nothing rotates")
    asked, pairs = rotation.fraction * mixer.key_dim / 2, rotation.pairs(mixer.key_dim)
    evidence = {
        "pairs_asked": quantity(asked, "pairs"),
        "pairs_rotated": quantity(pairs, "pairs"),
        "key_width": quantity(mixer.key_dim, "channels"),
    }
    if abs(asked - pairs) < ROUNDED:
        reason = f"{pairs} pairs of {mixer.key_dim} channels rotate"
        return Outcome("pass", site.at("rotation.fraction"), reason, evidence=evidence)
    return Outcome(
        "fail",
        site.at("rotation.fraction"),
        f"fraction {rotation.fraction:g} of {mixer.key_dim} key channels is {asked:g} pairs: only {pairs} rotate, and a"
        " channel is left over.",
        kind=Kind.BROKEN,
        evidence=evidence,
        fix=setting("display", {site.at("rotation.fraction"): 2 * pairs / mixer.key_dim}),
    )


rule = Rule(
    code="CD904",
    name="broken-rotary-pairs",
    group="proof",
    precision="very-high",
    what="`rotation.fraction` times the key width is not an even number of channels.",
    why="A rotation acts on pairs. An odd head width, or a rounded fraction, silently rotates fewer than meant.",
    exceptions=(
        "Partial rotation of a whole number of pairs (32 of 80 channels) is sound.",
        "A rounded fraction that asks for less than a tenth of a pair too much (0.334 of 192 channels) is sound.",
    ),
    fix="Make `heads.state_dim` even, or write the fraction exactly, such as 0.25.",
    references=("arXiv 2104.09864",),
    passes=({"mixer": {"rotation": {"source": "constant", "fraction": 0.4}, "heads": {"state_dim": 80}}},),
    fails=({"mixer": {"rotation": {"source": "constant"}, "heads": {"state_dim": 3}}},),
    kinds=(Kind.BROKEN,),
    fields_read=("rotation.source", "rotation.fraction", "heads.state_dim", "features.map", "features.width"),
    check=per_mixer(judge),
)
