"""CD501 score-scale: the scores start too wide or too narrow for a readout that is not homogeneous."""

import math

from checkers import scores
from checkers.finding import Fix, Quantity, quantity, setting
from checkers.quadrature import Moments
from checkers.remedies import rounded_down
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.spec import LARGEST, SMALLEST

MEASURED_WITHIN = 0.15  # of the predicted std, beside the uncertainty of the measurement
BASE_DIGITS = 3  # significant, of a base that a fix writes


def judge(site: Site) -> Outcome:
    """P5: std of z_ij over random tokens at initialisation, every declared factor multiplied; two-sided."""
    mixer = site.mixer
    if mixer.features.is_static:
        return Outcome(
            "inapplicable", site.at("features.map"), "static q and k: the score does not vary with the token"
        )
    found = scores.score_moments(mixer)
    if found is None:
        return Outcome(
            "unknown",
            site.at("features.map"),
            f"the spread behind `map: {mixer.features.map}` with `norm: {mixer.features.norm}` is not derived, or the"
            " decay it reads declares no initial range",
        )
    if readouts.homogeneous_degree(mixer.readout) is not None:
        return _homogeneous(site, found)
    low, high = site.thresholds.score_scale.band
    if low <= found.std <= high:
        return Outcome("pass", site.at("scaling.base"), f"score std {found.std:.3g} lies in [{low:g}, {high:g}]")
    return _out_of_band(site, found)


def _out_of_band(site: Site, found: Moments) -> Outcome:
    mixer, (low, high) = site.mixer, site.thresholds.score_scale.band
    effect = "rows start nearly one-hot" if found.std > high else "rows start nearly uniform"
    learnable = mixer.scaling.learnable or mixer.features.norm in ("rms_weighted", "layernorm")
    return Outcome(
        "fail",
        site.at("scaling.where" if mixer.scaling.where == "after" else "scaling.base"),
        f"score std {found.std:.3g} at initialisation, outside [{low:g}, {high:g}]: {effect};"
        f" {_product_text(mixer)}{' (learnable)' if learnable else ''}{_measured_text(site, found)}.",
        kind=Kind.SCORE_OFF if _in_wide_band(site, found.std) else Kind.SCORE_FAR,
        evidence=_evidence(site, found),
        assumptions=_assumptions(mixer),
        lowered=learnable,
        fix=_fix(site, found),
    )


def _homogeneous(site: Site, found: Moments) -> Outcome:
    """A constant factor only rescales y; it is void where something divides it out again (equivalence 4)."""
    mixer = site.mixer
    degree = readouts.homogeneous_degree(mixer.readout)
    void = mixer.io.norm_is_per_head or mixer.normalization.kind in ("sum", "sum_with_sink")
    reason = f"phi is homogeneous (degree {degree}): a constant factor on the score only rescales the output"
    if void or _in_wide_band(site, found.rms):
        return Outcome("inapplicable", site.at("scaling.base"), reason)
    return Outcome(
        "inapplicable",
        site.at("scaling.base"),
        f"{reason}; the score starts with rms {found.rms:.3g}, and nothing divides it out.",
        kind=Kind.NOTE,
        evidence=_evidence(site, found),
        assumptions=_assumptions(mixer),
    )


def _in_wide_band(site: Site, spread: float) -> bool:
    low, high = site.thresholds.score_scale.wide_band
    return low <= spread <= high


def _product_text(mixer: MixerSpec) -> str:
    product = scores.product_moments(mixer)
    base = scores.score_base(mixer)
    spread = f"q . k has std {product.std:.3g}" if product else "q . k"
    placed = ", the base acts after phi" if mixer.scaling.where == "after" else f", times b = {base:.3g}"
    return f"{spread} at n = {mixer.key_dim}{placed}"


def _measured_text(site: Site, found: Moments) -> str:
    measured = site.context.measured("score_std", site.path)
    if measured is None:
        return ""
    agrees = abs(measured.value - found.std) <= measured.uncertainty + MEASURED_WITHIN * found.std
    return f"; a probe {'confirms' if agrees else 'contradicts'} this: {measured.value:.3g}"


def _evidence(site: Site, found: Moments) -> dict[str, Quantity]:
    mixer = site.mixer
    product, gate = scores.product_moments(mixer), scores.gate_moments(mixer)
    evidence = {
        "score_std": quantity(found.std),
        "score_mean": quantity(found.mean),
        "band": quantity(site.thresholds.score_scale.band),
        "key_width": quantity(mixer.key_dim, "channels"),
        "base": quantity(mixer.base),
    }
    if product is not None:
        evidence["product_std"] = quantity(product.std)
    if gate is not None and mixer.scaling.gate != "none":
        evidence["gate_mean"] = quantity(gate.mean)
    measured = site.context.measured("score_std", site.path)
    if measured is not None:
        evidence["measured_score_std"] = quantity(measured.value)
    return evidence


def _assumptions(mixer: MixerSpec) -> tuple[str, ...]:
    features = mixer.features
    return (
        f"entries of q and k start independent, std {features.q_std:g} and {features.k_std:g}; lag 0, random tokens",
    )


def _fix(site: Site, found: Moments) -> Fix | None:
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
        "The factor may stand on q, on k, on the score, or in the initial weights (`q_std`, T5): all are multiplied.",
        "Homogeneous readouts (identity, relu^p, one monomial) only rescale the output: a remark at most.",
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
