"""Disagreements that are understood and stay: which specs, and why. docs/agreement.md lists them."""

from collections.abc import Callable
from typing import NamedTuple

from designspace.mixer import MixerSpec


class Explanation(NamedTuple):
    """Specs of which one rule is right although a probe says otherwise, or cannot say."""

    rule: str
    holds: Callable[[MixerSpec], bool]
    specs: str
    reason: str


def signed_sum(mixer: MixerSpec) -> bool:
    """Vectors are divided by a sum that may be 0."""
    return mixer.features.norm == "sum" and not mixer.features.is_nonnegative


def bias_beyond_scores(mixer: MixerSpec) -> bool:
    """A constant fall of the score under a readout that is 0 below 0."""
    return mixer.readout.kind == "relu" and mixer.shear.source == "constant"


def relu_of_nonnegative(mixer: MixerSpec) -> bool:
    """Scores that are never negative under a relu."""
    return mixer.readout.kind == "relu" and mixer.features.is_nonnegative


def constant_vectors(mixer: MixerSpec) -> bool:
    """Queries and keys that are constant, or have one channel behind a norm."""
    one = mixer.key_dim == 1 and mixer.features.norm != "none"
    return mixer.features.map in ("ones", "static") or one


def constant_direction(mixer: MixerSpec) -> bool:
    """An erase along keys that have one direction whatever the token."""
    two = mixer.key_dim <= 2 and mixer.features.norm == "layernorm"
    return mixer.features.map in ("ones", "static", "scaled_static") or two


def one_constant_head(mixer: MixerSpec) -> bool:
    """A constant decay of a single head lies at the low end of its range."""
    return mixer.decay.source == "constant" and mixer.heads.num_heads == 1


NEXT_TO_ZERO = "the bound breaks only next to a vector whose entries add up to 0, which extreme inputs seldom meet"
EXPLANATIONS = (
    Explanation(
        "quadratic-cost",
        relu_of_nonnegative,
        "`relu` over features without signs",
        "phi is the score itself (or its square) there, so a state is enough; the rule reads the readout as written",
    ),
    Explanation(
        "quadratic-cost",
        constant_vectors,
        "constant queries and keys, or one channel behind a norm",
        "the score is that of the key alone, or one term of the key and one of the query: a running sum of phi is"
        " enough; the rule knows this of the exponential readout only (equivalence 9)",
    ),
    *(
        Explanation(rule, signed_sum, "`norm: sum` over entries with signs", NEXT_TO_ZERO)
        for rule in ("normalization-can-vanish", "stabiliser-missing", "score-unbounded-in-training")
    ),
    Explanation(
        "commuting-transitions",
        constant_direction,
        "an erase along keys of one direction",
        "steps along one direction commute with each other and with a factor that all channels share; the rule takes"
        " the direction of an erase to come from the token",
    ),
    Explanation(
        "evolution-expands",
        one_constant_head,
        "a constant decay of one head",
        "the schedule gives a single head the low end of the range; the rule judges the declared range",
    ),
    Explanation(
        "position-blind",
        bias_beyond_scores,
        "`relu` under a constant fall of the score",
        "small scores are all below the bias one step away: at the start only the own token has a weight",
    ),
)


def explanation(rule: str, mixer: MixerSpec) -> Explanation | None:
    """Why a disagreement of this rule about this mixer stays; None where nothing explains it."""
    return next((one for one in EXPLANATIONS if one.rule == rule and one.holds(mixer)), None)
