"""CD501 score-scale: the scores start too wide or too narrow for a readout that is not homogeneous."""

import math

from checkers import scores
from checkers.finding import Edit, Fix, Quantity, quantity
from checkers.quadrature import Moments
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.mixer import MixerSpec

BAND = (0.5, 2.0)
WIDE_BAND = (0.25, 4.0)


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
    low, high = BAND
    if low <= found.std <= high:
        return Outcome("pass", site.at("scaling.base"), f"score std {found.std:.3g} lies in [{low:g}, {high:g}]")
    return _out_of_band(site, found)


def _out_of_band(site: Site, found: Moments) -> Outcome:
    mixer = site.mixer
    inside = WIDE_BAND[0] <= found.std <= WIDE_BAND[1]
    effect = "rows start nearly one-hot" if found.std > BAND[1] else "rows start nearly uniform"
    learnable = mixer.scaling.learnable or mixer.features.norm in ("rms_weighted", "layernorm")
    return Outcome(
        "fail",
        site.at("scaling.where" if mixer.scaling.where == "after" else "scaling.base"),
        f"score std {found.std:.3g} at initialisation, outside [{BAND[0]:g}, {BAND[1]:g}]: {effect};"
        f" {_product_text(mixer)}{' (learnable)' if learnable else ''}{_measured_text(site, found)}.",
        kind=Kind.SCORE_OFF if inside else Kind.SCORE_FAR,
        evidence=_evidence(site, found),
        assumptions=_assumptions(mixer),
        lowered=learnable,
        fix=_fix(site),
    )


def _homogeneous(site: Site, found: Moments) -> Outcome:
    """A constant factor only rescales y; it is void where something divides it out again (equivalence 4)."""
    mixer = site.mixer
    degree = readouts.homogeneous_degree(mixer.readout)
    void = mixer.io.norm_is_per_head or mixer.normalization.kind in ("sum", "sum_with_sink")
    inside = WIDE_BAND[0] <= found.rms <= WIDE_BAND[1]
    reason = f"phi is homogeneous (degree {degree}): a constant factor on the score only rescales the output"
    if void or inside:
        return Outcome("inapplicable", site.at("scaling.base"), reason)
    return Outcome(
        "inapplicable",
        site.at("scaling.base"),
        f"{reason}; the score starts with rms {found.rms:.3g}, and nothing divides it out.",
        kind=Kind.NOTE,
        evidence=_evidence(site, found),
        assumptions=_assumptions(mixer),
    )


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
    agrees = abs(measured.value - found.std) <= max(measured.uncertainty, 0.1 * found.std)
    return f"; a probe {'confirms' if agrees else 'contradicts'} this: {measured.value:.3g}"


def _evidence(site: Site, found: Moments) -> dict[str, Quantity]:
    mixer = site.mixer
    product, gate = scores.product_moments(mixer), scores.gate_moments(mixer)
    evidence = {
        "score_std": quantity(found.std),
        "score_mean": quantity(found.mean),
        "band": quantity(BAND),
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


def _fix(site: Site) -> Fix | None:
    """The 1 / sqrt(n) that unit-variance queries and keys need; another norm needs a decision."""
    mixer = site.mixer
    plain = mixer.features.norm in ("none", "rms", "rms_weighted", "layernorm") and mixer.features.map == "identity"
    unit = math.isclose(mixer.features.q_std * mixer.features.k_std * mixer.features.gain**2, 1.0)
    if not plain or not unit or mixer.scaling.gate != "none":
        return None
    edits = [Edit(action="set", path=site.at("scaling.base"), value="n^-1/2")]
    if mixer.scaling.where == "after":
        edits.append(Edit(action="set", path=site.at("scaling.where"), value="score"))
    return Fix(applicability="unsafe", edits=tuple(edits))


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
