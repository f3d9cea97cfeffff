"""CD501 score-scale: the scores start too wide or too narrow for a readout that is not homogeneous."""

import math
from collections.abc import Iterator

from checkers import scores
from checkers.finding import Fix, Quantity, quantity, setting
from checkers.projections import underived
from checkers.quadrature import Spread
from checkers.remedies import rounded_down
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.spec import LARGEST, SMALLEST, Range

SLACK = 1e-5  # relative, at the ends of a band
BASE_DIGITS = 3  # significant, of a base that a fix writes
NEUTRAL = ("none", 1.0)  # factors that leave the score alone


def judge(site: Site) -> Outcome:
    """P5: std of z_ij over random tokens at initialisation, every declared factor multiplied; two-sided."""
    mixer = site.mixer
    found = scores.score_moments(mixer, site.target.seq_len)
    if mixer.features.is_static:
        return Outcome(
            "inapplicable",
            site.at("features.map"),
            "static q and k: the score does not vary with the token",
            evidence={} if found is None else _evidence(site, found),
        )
    if readouts.homogeneous_degree(mixer.readout) is not None:
        return _homogeneous(site, found)
    if found is None:
        return Outcome("unknown", site.at("features"), f"the score std is not predicted: {underived(mixer)}")
    low, high = band = site.thresholds.score_scale.band
    if _lies_in(band, found.std):
        return Outcome(
            "pass",
            site.at("scaling.base"),
            f"score std {found.std:.3g} lies in [{low:g}, {high:g}]",
            evidence=_evidence(site, found),
        )
    return _out_of_band(site, found)


def _out_of_band(site: Site, found: Spread) -> Outcome:
    mixer, (low, high) = site.mixer, site.thresholds.score_scale.band
    effect = "rows start nearly one-hot" if found.std > high else "rows start nearly uniform"
    return Outcome(
        "fail",
        site.at("scaling.where" if mixer.scaling.where == "after" else "scaling.base"),
        f"score std {found.std:.3g} at initialisation, outside [{low:g}, {high:g}]: {effect}; {_factors_text(site)}.",
        kind=Kind.SCORE_OFF if _in_wide_band(site, found.std) else Kind.SCORE_FAR,
        evidence=_evidence(site, found),
        assumptions=_assumptions(mixer),
        lowered=_is_learnable(mixer),
        fix=_fix(site, found),
    )


def _homogeneous(site: Site, found: Spread | None) -> Outcome:
    """A constant factor only rescales y; it is void where something divides it out again (equivalence 4)."""
    mixer = site.mixer
    degree = readouts.homogeneous_degree(mixer.readout)
    reason = f"phi is homogeneous (degree {degree}): a constant factor on the score only rescales the output"
    if found is None:
        return Outcome("inapplicable", site.at("scaling.base"), reason)
    evidence = _evidence(site, found) | {"score_rms": quantity(found.rms)}
    if _is_void(site) or _is_of_growth(mixer) or _in_wide_band(site, found.rms):
        return Outcome("inapplicable", site.at("scaling.base"), reason, evidence=evidence)
    return Outcome(
        "inapplicable",
        site.at("scaling.base"),
        f"{reason}; the score starts with rms {found.rms:.3g}, and nothing divides it out.",
        kind=Kind.NOTE,
        evidence=evidence,
        assumptions=_assumptions(mixer),
    )


def _is_void(site: Site) -> bool:
    """The row sum, a learned eta or an output norm divides every factor that all heads share out again."""
    mixer = site.mixer
    if site.norm_divides_row or mixer.normalization.kind in ("sum", "sum_with_sink", "learned"):
        return True
    over_heads = mixer.io.output_norm in ("group_rms", "full_rms")
    before_gate = mixer.io.gate == "none" or mixer.io.order == "norm_then_gate"
    return over_heads and before_gate and mixer.support.diagonal == "none"


def _is_of_growth(mixer: MixerSpec) -> bool:
    """Nothing divides the output: CD601 judges the same scale, over the length."""
    return mixer.normalization.kind == "none" and mixer.io.output_norm == "none"


def _is_learnable(mixer: MixerSpec) -> bool:
    return mixer.scaling.learnable or mixer.features.norm_has_gain


def _in_wide_band(site: Site, spread: float) -> bool:
    return _lies_in(site.thresholds.score_scale.wide_band, spread)


def _lies_in(band: Range, spread: float) -> bool:
    """The spread is in the band, whose ends count as declared: the eps of a norm and rounding do not leave it."""
    low, high = band
    return low * (1.0 - SLACK) <= spread <= high * (1.0 + SLACK)


def _factors_text(site: Site) -> str:
    """`q . k has std 8 at n = 64, times base 1`, and every other factor."""
    mixer = site.mixer
    product = scores.product_spread(mixer)
    spread = f"q . k has std {product.std:.3g}" if product else "q . k"
    bound = mixer.product_bound
    bounded = "" if bound is None else f" (at most {bound:.3g} by its {mixer.features.norm} norm)"
    placed = "the base acts after phi" if mixer.scaling.where == "after" else f"times base {mixer.base:.3g}"
    learnable = " (learnable)" if _is_learnable(mixer) else ""
    return ", ".join((f"{spread} at n = {mixer.key_dim}{bounded}", f"{placed}{learnable}", *_other_factors(site)))


def _other_factors(site: Site) -> Iterator[str]:
    mixer, seq_len = site.mixer, site.target.seq_len
    found = {
        f"gate {mixer.scaling.gate}": scores.gate_spread(mixer, seq_len),
        f"what lift {mixer.lift.kind} leaves at lag 0": scores.lift_spread(mixer),
        "the query schedule": scores.query_schedule(mixer, seq_len),
    }
    for name, factor in found.items():
        if factor != scores.ONE:
            yield f"times {name} (mean {factor.mean:.3g}, rms {factor.rms:.3g})"


def _evidence(site: Site, found: Spread) -> dict[str, Quantity]:
    """The score, and every factor of it that does something."""
    mixer, features = site.mixer, site.mixer.features
    product, seq_len = scores.product_spread(mixer) or found, site.target.seq_len
    gate = scores.gate_spread(mixer, seq_len)
    evidence = {
        "score_std": quantity(found.std),
        "score_mean": quantity(found.mean),
        "band": quantity(site.thresholds.score_scale.band),
        "key_width": quantity(mixer.key_dim, "channels"),
        "base": quantity(mixer.base),
        "q_std": quantity(features.q_std),
        "k_std": quantity(features.k_std),
        "product_std": quantity(product.std),
        "product_mean": quantity(product.mean),
    }
    if mixer.product_bound is not None:
        evidence["product_bound"] = quantity(mixer.product_bound)
    if gate != scores.ONE:
        evidence |= {"gate_mean": quantity(gate.mean), "gate_rms": quantity(gate.rms), "gate_std": quantity(gate.std)}
    factors: dict[str, float | str] = {
        "norm": features.norm,
        "norm_gain": features.gain,
        "attention_factor": mixer.rotation.attention_factor,
        "lift_rms": scores.lift_spread(mixer).rms,
        "query_schedule_rms": scores.query_schedule(mixer, seq_len).rms,
    }
    return evidence | {name: quantity(value) for name, value in factors.items() if value not in NEUTRAL}


def _assumptions(mixer: MixerSpec) -> tuple[str, ...]:
    features = mixer.features
    return (
        f"entries of q and k start independent, std {features.q_std:g} and {features.k_std:g}; lag 0, random tokens",
    )


def _fix(site: Site, found: Spread) -> Fix | None:
    """A base on the score that brings its std into the band: 1 / sqrt(n) where that does, else a number."""
    mixer, (low, high) = site.mixer, site.thresholds.score_scale.band
    unscaled = found.std / scores.score_base(mixer)
    if not SMALLEST < unscaled < LARGEST:
        return None
    named = low <= unscaled * mixer.heads.state_dim**-0.5 <= high
    middle = math.sqrt(low * high)
    values: dict[str, float | str] = {
        site.at("scaling.base"): "n^-1/2" if named else rounded_down(middle / unscaled, BASE_DIGITS)
    }
    if mixer.scaling.where == "after":
        values[site.at("scaling.where")] = "q" if mixer.execution.dtype.scores == "float16" else "score"
    return setting("unsafe", values)


UNSCALED = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}, "scaling": {"base": 1.0}}
rule = Rule(
    code="CD501",
    name="score-scale",
    group="proof",
    precision="high",
    what="The predicted standard deviation of the scores at initialisation lies outside [0.5, 2] (warning) or"
    " [0.25, 4] (error).",
    why="A readout that is not homogeneous bends at scores near 1. Far wider scores make one-hot rows with vanishing"
    " gradients, far narrower ones make uniform rows. Unscaled q . k of n unit entries has std sqrt(n).",
    exceptions=(
        "The factor may stand on q, on k, on both (n^-1/4 each), on the score, or in the initial weights (`q_std`, T5):"
        " all are multiplied.",
        "Homogeneous readouts (identity, relu^p, one monomial) only rescale the output: a remark at most, none where"
        " CD601 judges that scale, or a norm, a row sum or a learned eta divides it out.",
        "The mean of the scores is reported apart: positive features have one, and a row sum does not see it.",
        "A trained checkpoint with an unusual scale (GPT-Neo) is info; so is 1 / n under muP.",
        "A learnable factor (`scaling.learnable`, a weighted norm) is one step less serious.",
        "A divisor near sqrt(n) that was chosen on purpose (Gemma: 144 or 168 for n = 128) lies in the band.",
    ),
    fix="Set `scaling.base: n^-1/2` for unit-variance q and k; with l2 norm set the gain so that gain / sqrt(n) is near"
    " 1.",
    references=("arXiv 1706.03762, section 3.2.1", "arXiv 2510.09389, principle 5"),
    passes=(
        {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}},
        {"mixer": {**UNSCALED, "features": {"q_std": 0.125}}},
        {"mixer": {**UNSCALED, "features": {"norm": "l2"}, "scaling": {"base": 10.0}}},
        "catalogue:softmax_rope",
    ),
    fails=(
        {"mixer": UNSCALED},
        {"mixer": {**UNSCALED, "features": {"norm": "l2"}, "scaling": {"base": 0.0125}}},
        {"mixer": {**UNSCALED, "scaling": {"base": "n^-1/2", "where": "after"}}},
        "catalogue:softmax_unscaled",
    ),
    kinds=(
        Kind.SCORE_OFF,
        Kind.SCORE_FAR,
        Kind.NOTE,
    ),
    fields_read=(
        "readout",
        "scaling",
        "features",
        "heads.state_dim",
        "io.output_norm",
        "normalization.kind",
        "target.provenance",
        "target.parametrisation",
    ),
    check=per_mixer(judge),
)
