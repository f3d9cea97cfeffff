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
    undecided: bool = False  # the probe cannot reach what the rule speaks of


def signed_sum(mixer: MixerSpec) -> bool:
    """Vectors are divided by a sum that may be 0."""
    return mixer.features.norm == "sum" and not mixer.features.is_nonnegative


def bias_beyond_scores(mixer: MixerSpec) -> bool:
    """A constant fall of the score under a readout that is 0 below 0."""
    return mixer.readout.kind == "relu" and mixer.shear.source == "constant"


def log_linear(mixer: MixerSpec) -> bool:
    """A state for each Fenwick level."""
    return mixer.lift.kind == "fenwick"


def sum_of_entries(mixer: MixerSpec) -> bool:
    """Keys divided by the sum of their entries."""
    return mixer.features.norm == "sum"


def of_parameters(mixer: MixerSpec) -> bool:
    """Scores that parameters make, not tokens."""
    return mixer.features.is_static or mixer.lift.kind == "shift"


def learned_sign(mixer: MixerSpec) -> bool:
    """Features without signs behind a norm whose gain is learned."""
    without = mixer.features.model_copy(update={"norm": "rms"}).is_nonnegative
    return mixer.features.norm == "rms_weighted" and without


def momentum(mixer: MixerSpec) -> bool:
    """A velocity that adds up over many tokens."""
    return mixer.lift.kind == "momentum"


def angles_of_zero(mixer: MixerSpec) -> bool:
    """Learned angles that start at 0."""
    return mixer.rotation.source == "learned" and mixer.rotation.initial == (0.0, 0.0)


def random_features(mixer: MixerSpec) -> bool:
    """Exponential features of a fixed random matrix."""
    return mixer.features.map == "favor"


def keys_of_zero(mixer: MixerSpec) -> bool:
    """Maps of a few channels that give 0 for most inputs."""
    return mixer.features.map in ("dpfp", "relu", "relu_zero") and mixer.heads.state_dim <= FEW


def constant_direction(mixer: MixerSpec) -> bool:
    """An erase along keys that have one direction whatever the token."""
    two = mixer.key_dim <= 2 and mixer.features.norm == "layernorm"
    return mixer.features.map in ("ones", "static", "scaled_static") or two


FEW = 4  # channels
NEXT_TO_ZERO = "the bound breaks only next to a vector whose entries add up to 0, which extreme inputs seldom meet"
EXPLANATIONS = (
    Explanation(
        "quadratic-cost",
        log_linear,
        "`lift: fenwick`",
        "log-linear: one state for each level, whose number grows with log L; the probe counts the rank",
        undecided=True,
    ),
    Explanation(
        "quadratic-cost",
        angles_of_zero,
        "learned angles that start at 0",
        "what they turn is seen after training only",
        undecided=True,
    ),
    *(
        Explanation(rule, signed_sum, "`norm: sum` over entries with signs", NEXT_TO_ZERO, undecided=True)
        for rule in ("normalization-can-vanish", "stabiliser-missing", "score-unbounded-in-training")
    ),
    Explanation(
        "evolution-expands",
        sum_of_entries,
        "`norm: sum`",
        "the bound is that of a key with one entry, which extreme inputs seldom meet",
        undecided=True,
    ),
    *(
        Explanation(
            rule,
            of_parameters,
            "constant queries and keys, or taps",
            "they are parameters, whose signs extreme inputs do not turn",
            undecided=True,
        )
        for rule in ("stabiliser-missing", "normalization-can-vanish")
    ),
    *(
        Explanation(
            rule,
            momentum,
            "`lift: momentum`",
            "the velocity grows over more tokens than extreme inputs have",
            undecided=True,
        )
        for rule in ("stabiliser-missing", "normalization-can-vanish")
    ),
    *(
        Explanation(
            rule,
            learned_sign,
            "`norm: rms_weighted` over features without signs",
            "scores get signs only where training turns a gain, which no input does",
            undecided=True,
        )
        for rule in ("quadratic-cost", "normalization-can-vanish")
    ),
    *(
        Explanation(
            rule,
            keys_of_zero,
            "keys that are 0 in most draws (dpfp or relu over a few channels)",
            "an erase along them does nothing at the start",
            undecided=True,
        )
        for rule in ("commuting-transitions", "parity-excluded", "evolution-expands")
    ),
    Explanation(
        "unscaled-half-precision-scores",
        random_features,
        "`map: favor`",
        "exp(w . x - |x|^2 / 2) ends at exp(|w|^2 / 2) for the fixed w of a draw, which is beyond float16 for wide keys"
        " only; the rule names no bound that depends on a draw",
        undecided=True,
    ),
    Explanation(
        "commuting-transitions",
        constant_direction,
        "an erase along keys of one direction",
        "steps along one direction commute with each other and with a factor that all channels share; the rule takes"
        " the direction of an erase to come from the token",
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
