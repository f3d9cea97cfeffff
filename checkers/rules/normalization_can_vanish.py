"""CD603 normalization-can-vanish: eta_i can be zero or change sign, or nothing keeps it from zero."""

import math

from checkers import scores
from checkers.finding import Fix, quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.readout import Identity

TYPICAL_EPS = 1e-6


def judge(site: Site) -> Outcome:
    """P6.3: the sign and the lower bound of eta_i."""
    mixer, kind = site.mixer, site.mixer.normalization.kind
    match kind:
        case "none":
            return Outcome("inapplicable", site.at("normalization"), "eta is a constant")
        case "learned":
            return Outcome("pass", site.at("normalization"), "eta = exp(n_i) is positive")
        case "length":
            return _length(site)
        case "max_abs_sum_1":
            return Outcome("pass", site.at("normalization"), "eta = max(|sum|, 1) is at least 1")
        case "sum" | "sum_with_sink":
            lowest = 0.0 if _turns_a_quarter_at_most(site) else _lowest_term(mixer)
            if lowest is None:
                return _signed(site)
            if kind == "sum_with_sink":
                return Outcome("pass", site.at("normalization"), "the sink keeps eta above exp(sink) > 0")
            return _positive_sum(site, lowest)


def _turns_a_quarter_at_most(site: Site) -> bool:
    """[relu(x), 0] under a rotation: the score is a sum of relu(q) relu(k) cos(angle), and no angle passes pi / 2."""
    mixer, rotation = site.mixer, site.mixer.rotation
    alone = mixer.erase.is_identity and mixer.shear.is_identity and mixer.lift.kind == "none"
    paired = rotation.source == "constant" and rotation.pairing == "half" and rotation.pairs(mixer.key_dim) * 2
    if mixer.features.map != "relu_zero" or not alone or paired != mixer.key_dim:
        return False
    reach = min(mixer.support.window or site.target.seq_len, site.target.seq_len) - 1
    linear = isinstance(mixer.readout, Identity) and mixer.features.norm_keeps_signs
    return linear and max(rotation.angles(mixer.key_dim)) * reach <= math.pi / 2


def _length(site: Site) -> Outcome:
    empty = site.mixer.support.mask == "strict" and site.mixer.normalization.length_kind == "visible"
    return _empty_row(site) if empty else Outcome("pass", site.at("normalization"), "eta is a count of at least 1")


def _empty_row(site: Site) -> Outcome:
    return Outcome(
        "fail",
        site.at("support.mask"),
        "the strict mask leaves the first query no key: its row is 0 / 0.",
        kind=Kind.ETA_VANISHES,
        fix=setting("unsafe", {site.at("support.mask"): "causal"})
        if site.mixer.normalization.kind == "length"
        else _add_eps(site),
    )


def _lowest_term(mixer: MixerSpec) -> float | None:
    """Infimum of phi over the reachable scores: positive, 0, or None where terms can be negative."""
    readout = scores.effective_readout(mixer)
    coefficients = readouts.polynomial_coefficients(readout)
    if scores.scores_are_nonnegative(mixer) and coefficients is not None and min(coefficients) >= 0:
        return coefficients[0]
    lowest = readouts.infimum(readout)
    return None if lowest < 0 else lowest


def _signed(site: Site) -> Outcome:
    mixer = site.mixer
    cause = (
        "queries and keys have signs"
        if not mixer.features.is_nonnegative
        else "the evolution turns keys, so scores get signs"
    )
    return Outcome(
        "fail",
        site.at("normalization.kind"),
        f"eta is a row sum of terms that can be negative ({cause}, and phi passes their sign on): it can cross zero,"
        " where the output blows up and flips its sign.",
        kind=Kind.ETA_VANISHES,
        evidence={"eps": quantity(mixer.normalization.eps)},
    )


def _positive_sum(site: Site, lowest: float) -> Outcome:
    mixer = site.mixer
    eps = mixer.normalization.eps
    if mixer.support.mask == "strict" and eps == 0.0:
        return _empty_row(site)
    zero = _why_zero(mixer)
    if eps == 0.0 and zero is not None:
        return Outcome(
            "fail",
            site.at("normalization.eps"),
            f"{zero} and eps = 0: a whole row can be 0 / 0.",
            kind=Kind.ETA_VANISHES,
            evidence={"eps": quantity(eps)},
            fix=_add_eps(site),
        )
    if lowest > 0.0 or _is_stabilised(mixer) or _has_a_constant_term(mixer):
        return _rows_sum_to_one(site)
    if eps == 0.0:
        return Outcome(
            "fail",
            site.at("normalization.eps"),
            f"eta is positive but not bounded away from 0 ({_why_small(mixer)}), and eps = 0: the sum can round to 0.",
            kind=Kind.ETA_UNBOUNDED,
            evidence={"eps": quantity(eps)},
            fix=_add_eps(site),
        )
    return Outcome(
        "pass",
        site.at("normalization.eps"),
        f"only eps = {eps:g} keeps eta from 0 ({_why_small(mixer)}): gradients of 1 / eta reach {1 / eps:.0e}.",
        kind=Kind.NOTE,
        evidence={"eps": quantity(eps)},
        sources=("arXiv 2210.10340",),
    )


def _why_zero(mixer: MixerSpec) -> str | None:
    """What can make every term of a row exactly 0 at once; None where nothing can."""
    readout = scores.effective_readout(mixer)
    nonnegative = scores.scores_are_nonnegative(mixer)
    if readouts.vanishes_on_half_line(readout) and not nonnegative:
        return "phi is exactly 0 on a half-line, where the first row lies for half of all inputs,"
    if mixer.features.can_be_zero and readouts.value(readout, 0.0) == 0.0:
        return f"the {mixer.features.map} features of a query can all be exactly 0, so q . k = 0 for every key,"
    return None


def _is_stabilised(mixer: MixerSpec) -> bool:
    """Subtracting the maximum makes the largest term exp(0) = 1; under an exponential gate it still holds q . k."""
    return mixer.readout.kind == "exponential" and mixer.execution.stabiliser in ("row_max", "running_max")


def _has_a_constant_term(mixer: MixerSpec) -> bool:
    """q = k = 1 without a gate, or with a stabilised exponential one: the term of some key stays at phi(n) > 0.

    With A = I every key is one; a decay leaves the query's own key, if the row has it.
    """
    gate, sees_itself = mixer.scaling.gate, mixer.support.mask != "strict" and mixer.support.read == "after"
    exponential = gate in ("exp", "exp_key") and mixer.execution.stabiliser in ("row_max", "running_max")
    constant = mixer.features.map == "ones" and scores.scores_are_nonnegative(mixer)
    return constant and (exponential or (gate == "none" and (mixer.evolution_is_identity or sees_itself)))


def _why_small(mixer: MixerSpec) -> str:
    if mixer.readout.kind == "identity":
        return "positive features can be nearly orthogonal"
    return f"the {mixer.readout.kind} readout tends to 0"


def _rows_sum_to_one(site: Site) -> Outcome:
    """A row sum that is positive: does dividing by it make the row sum to 1?"""
    mixer = site.mixer
    after = mixer.base if mixer.scaling.where == "after" else 1.0
    total = after / mixer.normalization.factor
    if abs(total - 1.0) < 1e-9:
        return Outcome("pass", site.at("normalization"), "eta is positive and bounded away from 0")
    field = "scaling.where" if after != 1.0 else "normalization.factor"
    return Outcome(
        "pass",
        site.at(field),
        f"eta does not normalise: every row sums to {total:.3g}, not to 1.",
        kind=Kind.NOTE,
        evidence={"row_sum": quantity(total)},
    )


def _add_eps(site: Site) -> Fix:
    return setting("unsafe", {site.at("normalization.eps"): TYPICAL_EPS})


rule = Rule(
    code="CD603",
    name="normalization-can-vanish",
    group="proof",
    precision="very-high",
    what="eta_i is a row sum that can be zero or change sign (error), or is positive without a lower bound and eps = 0"
    " (warning).",
    why="Dividing by a sum that crosses zero makes outputs of any size and either sign; identity features at n = 64"
    " give a negative eta for half of the queries. Half-precision sums of tiny positive terms round to 0 and give NaN.",
    exceptions=(
        "The exponential with its maximum subtracted: the largest term is 1.",
        "max(|sum|, 1), exp(n_i), a count, and a sink in the denominator are bounded away from 0.",
        "1 + z changes sign, 1 + z + z^2 / 2 does not; with positive features neither does.",
        "Constant features (`map: ones`) keep q . k at n; an exponential gate alone bounds nothing.",
        "A small eps suffices; what it leaves (large gradients) is a remark.",
    ),
    fix="Use features or a readout without a sign, set `normalization.eps`, or replace eta by an output norm.",
    references=("arXiv 2006.16236", "arXiv 2210.10340", "arXiv 2510.09389, principle 6"),
    passes=(
        {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}},
        {"mixer": {"features": {"map": "elu+1"}, "normalization": {"kind": "sum", "eps": 1e-6}}},
        {
            "mixer": {
                "readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]},
                "normalization": {"kind": "sum"},
            }
        },
        {"mixer": {"features": {"map": "ones"}, "normalization": {"kind": "sum"}}},
        "catalogue:mlstm_exp",
    ),
    fails=(
        {"mixer": {"readout": {"kind": "identity"}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0]}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "relu"}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "sigmoid"}, "normalization": {"kind": "sum"}}},
        {"mixer": {"features": {"map": "relu"}, "scaling": {"gate": "exp"}, "normalization": {"kind": "sum"}}},
    ),
    kinds=(
        Kind.ETA_VANISHES,
        Kind.ETA_UNBOUNDED,
        Kind.NOTE,
    ),
    fields_read=(
        "normalization",
        "readout",
        "features.map",
        "features.norm",
        "rotation",
        "erase",
        "support.mask",
        "scaling.where",
        "scaling.gate",
        "execution.stabiliser",
    ),
    check=per_mixer(judge),
)
