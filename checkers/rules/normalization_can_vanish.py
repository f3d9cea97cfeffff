"""CD603 normalization-can-vanish: eta_i can be zero or change sign, or nothing keeps it from zero."""

import math

from checkers import bounds
from checkers.finding import Fix, Quantity, quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.rules import stabiliser_missing
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.readout import Identity, Sigmoid

STABILISER = "CD604"
TYPICAL_EPS = 1e-6
LEAST = 1e-30  # of a lower bound that counts as one


def judge(site: Site) -> Outcome:
    """P6.3: the sign and the lower bound of eta_i, one number per query."""
    match site.mixer.normalization.kind:
        case "none":
            return Outcome("inapplicable", site.at("normalization"), "eta is a constant")
        case "learned":
            return Outcome("pass", site.at("normalization"), "eta = exp(n_i) is positive")
        case "length":
            return _length(site)
        case "max_abs_sum_1":
            return Outcome("pass", site.at("normalization"), "eta = max(|sum|, 1) is at least 1")
        case "sum" | "sum_with_sink":
            return _judge_sum(site)


def _judge_sum(site: Site) -> Outcome:
    mixer = site.mixer
    by_bonus = mixer.support.read == "before" and bounds.lowest_value(mixer.readout, bounds.EVERYTHING) < 0.0
    if by_bonus and bounds.scores_are_nonnegative(mixer):
        reason = "the bonus of the query's own key starts at 1, and training decides about its sign"
        return Outcome("unknown", site.at("support.diagonal"), reason)
    terms, own = _lowest_terms(site)
    if terms < 0.0:
        return _signed(site, terms)
    if mixer.normalization.kind == "sum_with_sink":
        return Outcome("pass", site.at("normalization"), "the sink keeps eta above exp(sink) > 0")
    return _positive_sum(site, max(terms, own))


def _lowest_terms(site: Site) -> tuple[float, float]:
    """Infimum of phi over every score of a row, and over the score of the query's own key."""
    mixer, seq_len = site.mixer, site.target.seq_len
    if _turns_a_quarter_at_most(site):
        return 0.0, 0.0
    if mixer.features.map == "taylor2" and bounds.scores_are_nonnegative(mixer):
        return 0.0, _lowest_taylor_term(mixer)
    terms = bounds.lowest_value(mixer.readout, bounds.score_interval(mixer, seq_len))
    own = bounds.lowest_value(mixer.readout, bounds.own_interval(mixer, seq_len))
    by_length = isinstance(mixer.readout, Sigmoid) and mixer.readout.offset == "-log_length"
    count = seq_len if by_length else 1  # sigmoid(z - ln L) >= sigmoid(z) / L
    return terms / count, own / count


def _lowest_taylor_term(mixer: MixerSpec) -> float:
    """1 + z + z^2 / 2 is at least 1 / 2; a norm, a gate or a decay takes the bound away."""
    kept = mixer.features.norm == "none" and mixer.scaling.gate == "none" and not mixer.scaling.learnable
    if not kept or not (mixer.support.mask != "strict" or mixer.decay.is_identity):
        return 0.0
    return 0.5 * mixer.score_base * (mixer.features.gain * mixer.features.gain)


def _turns_a_quarter_at_most(site: Site) -> bool:
    """[relu(x), 0] under a rotation: the score is a sum of relu(q) relu(k) cos(angle), and no angle passes pi / 2."""
    mixer, rotation = site.mixer, site.mixer.rotation
    alone = mixer.erase.is_identity and mixer.shear.is_identity
    paired = rotation.source == "constant" and rotation.pairing == "half" and rotation.pairs(mixer.key_dim) * 2
    if mixer.features.map != "relu_zero" or not alone or paired != mixer.key_dim:
        return False
    reach = mixer.support.span(site.target.seq_len) - 1
    linear = isinstance(mixer.readout, Identity) and mixer.features.norm_keeps_signs
    return linear and max(rotation.angles(mixer.key_dim)) * reach <= math.pi / 2


def _length(site: Site) -> Outcome:
    """A count is 0 only where a query sees no key at all."""
    empty = _empty_rows(site.mixer) if site.mixer.normalization.length_kind == "visible" else None
    return _empty_row(site, empty) if empty else Outcome("pass", site.at("normalization"), "eta is a count >= 1")


def _empty_rows(mixer: MixerSpec) -> str | None:
    """Which queries have no key; None where every query sees its own."""
    support = mixer.support
    if support.mask != "strict":
        return None
    if 1 in (support.window, support.chunk):
        return "every query"
    return "the first query" if support.chunk is None else f"the first query of every chunk of {support.chunk}"


def _empty_row(site: Site, rows: str) -> Outcome:
    return Outcome(
        "fail",
        site.at("support.mask"),
        f"the strict mask leaves {rows} no key: that row is 0 / 0.",
        kind=Kind.ETA_VANISHES,
        evidence=_eps(site),
        fix=setting("unsafe", {site.at("support.mask"): "causal"})
        if site.mixer.normalization.kind == "length"
        else _add_eps(site),
    )


def _signed(site: Site, lowest: float) -> Outcome:
    return Outcome(
        "fail",
        site.at("normalization.kind"),
        f"eta is a row sum of terms that can be negative ({_why_signed(site.mixer)}): it can cross zero, where the"
        " output blows up and flips its sign.",
        kind=Kind.ETA_VANISHES,
        evidence=_eps(site) | {"lowest_term": quantity(lowest)},
        assumptions=("bounds over every input, the declared ranges and the fixed norms",),
    )


def _why_signed(mixer: MixerSpec) -> str:
    if bounds.scores_are_nonnegative(mixer):
        return "phi itself is negative there"
    if mixer.features.is_nonnegative or mixer.features.map == "taylor2":
        return "the evolution or a learned gain turns keys, so scores get signs, and phi passes them on"
    return "queries and keys have signs, and phi passes them on"


def _positive_sum(site: Site, lowest: float) -> Outcome:
    mixer = site.mixer
    eps, empty = mixer.normalization.eps, _empty_rows(mixer)
    if empty and eps == 0.0:
        return _empty_row(site, empty)
    zero = _why_zero(site)
    if eps == 0.0 and zero is not None:
        return Outcome(
            "fail",
            site.at("normalization.eps"),
            f"{zero} and eps = 0: a whole row can be 0 / 0.",
            kind=Kind.ETA_VANISHES,
            evidence=_eps(site),
            fix=_add_eps(site),
        )
    if lowest > LEAST or _is_stabilised(mixer) or _has_a_constant_term(mixer):
        return _rows_sum_to_one(site, lowest)
    if eps == 0.0:
        told = _needs_only_a_maximum(site)
        return Outcome(
            "fail",
            site.at("normalization.eps"),
            f"eta is positive but not bounded away from 0 ({_why_small(mixer)}), and eps = 0: the sum can round to 0.",
            kind=None if told else Kind.ETA_UNBOUNDED,
            evidence=_eps(site),
            fix=_add_eps(site),
            told_by=STABILISER if told else None,
        )
    return Outcome(
        "pass",
        site.at("normalization.eps"),
        f"only eps = {eps:g} keeps eta from 0 ({_why_small(mixer)}): gradients of 1 / eta reach {1 / eps:.0e}.",
        kind=Kind.NOTE,
        evidence=_eps(site) | {"largest_gradient": quantity(1.0 / eps), "row_sum": quantity(_row_total(mixer))},
        sources=("arXiv 2210.10340",),
    )


def _eps(site: Site) -> dict[str, Quantity]:
    return {"eps": quantity(site.mixer.normalization.eps)}


def _why_zero(site: Site) -> str | None:
    """What can make every term of a row exactly 0 at once; None where nothing can."""
    mixer = site.mixer
    own = bounds.own_interval(mixer, site.target.seq_len)
    if readouts.vanishes_on_half_line(mixer.readout) and own[0] < 0.0:
        return "phi is exactly 0 on a half-line, where the first row lies for half of all inputs,"
    if mixer.features.can_be_zero and readouts.value(mixer.readout, 0.0) == 0.0:
        return f"the {mixer.features.map} features of a query can all be exactly 0, so q . k = 0 for every key,"
    return None


def _is_stabilised(mixer: MixerSpec) -> bool:
    """Subtracting the maximum makes the largest term exp(0) = 1; under an exponential gate it still holds q . k."""
    return mixer.readout.kind == "exponential" and mixer.execution.stabiliser in ("row_max", "running_max")


def _needs_only_a_maximum(site: Site) -> bool:
    """CD604 reports that no maximum is subtracted, and with one the row sum is bounded too."""
    execution = site.mixer.execution.model_copy(update={"stabiliser": "row_max"})
    repaired = site.mixer.model_copy(update={"execution": execution})
    bounded = _is_stabilised(repaired) or _has_a_constant_term(repaired)
    parts = stabiliser_missing.exponentials(site) if bounded else ()
    return any(part.cancels and stabiliser_missing.judge_part(site, part).answer == "fail" for part in parts)


def _has_a_constant_term(mixer: MixerSpec) -> bool:
    """q = k = 1 without a gate, or with a stabilised exponential one: the term of some key stays at phi(n) > 0.

    With A = I every key is one; a decay leaves the query's own key, if the row has it.
    """
    gate, sees_itself = mixer.scaling.gate, mixer.support.mask != "strict" and mixer.support.read == "after"
    exponential = gate in ("exp", "exp_key") and mixer.execution.stabiliser in ("row_max", "running_max")
    constant = mixer.features.map == "ones" and bounds.scores_are_nonnegative(mixer)
    return constant and (exponential or (gate == "none" and (mixer.evolution_is_identity or sees_itself)))


def _why_small(mixer: MixerSpec) -> str:
    if mixer.readout.kind == "identity":
        return "positive features can be nearly orthogonal"
    if mixer.readout.kind == "polynomial":
        return "the polynomial has a zero among the scores"
    return f"the {mixer.readout.kind} readout tends to 0"


def _row_total(mixer: MixerSpec) -> float:
    """What a row of coefficients sums to."""
    after = mixer.base if mixer.scaling.where == "after" else 1.0
    return after / mixer.normalization.factor


def _rows_sum_to_one(site: Site, lowest: float) -> Outcome:
    """A row sum that is positive: does dividing by it make the row sum to 1?"""
    mixer, total = site.mixer, _row_total(site.mixer)
    evidence = {"row_sum": quantity(total)} | ({"lowest_term": quantity(lowest)} if lowest > LEAST else {})
    if abs(total - 1.0) < 1e-9:
        reason = "eta is positive and bounded away from 0"
        return Outcome("pass", site.at("normalization"), reason, evidence=evidence)
    field = "scaling.where" if mixer.scaling.where == "after" and mixer.base != 1.0 else "normalization.factor"
    return Outcome(
        "pass",
        site.at(field),
        f"eta does not normalise: every row sums to {total:.3g}, not to 1.",
        kind=Kind.NOTE,
        evidence=evidence,
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
        "The exponential with its maximum subtracted: the largest term is 1. Where none is subtracted CD604 tells the"
        " cause, and this rule has a verdict without a finding.",
        "max(|sum|, 1), exp(n_i), a count, and a sink in the denominator are bounded away from 0.",
        "1 + z changes sign, 1 + z + z^2 / 2 does not; with positive features, or |z| < 1 by a norm, neither does.",
        "A norm on q and k bounds the score from below, and with it every term exp(z) or sigmoid(z).",
        "A bonus that replaces the query's own score (RWKV-4) has a learned sign, where features have none: unknown.",
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
        "features",
        "decay",
        "rotation",
        "erase",
        "shear",
        "lift",
        "support",
        "scaling",
        "heads",
        "execution.stabiliser",
        "target.seq_len",
    ),
    check=per_mixer(judge),
)
