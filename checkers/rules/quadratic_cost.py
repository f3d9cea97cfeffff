"""CD101 quadratic-cost: training work grows with the square of the length, and the cache with the length."""

from collections.abc import Mapping

from checkers.finding import Quantity, quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.cost import DTYPE_BYTES, MixerCost, state_rows
from designspace.mixer import MixerSpec
from designspace.readout import Exponential, Relu

Evidence = Mapping[str, Quantity]


def judge(site: Site) -> Outcome:
    """P1: is there a finite lift of phi, or a support that bounds what a query reads?"""
    mixer, cost = site.mixer, site.cost
    evidence = _numbers(cost, site.target.seq_len)
    bound = _bound(mixer)
    if bound is not None:
        return _bounded(site, *bound, evidence=evidence)
    rows = state_rows(mixer)
    if rows is not None:
        return _finite(site, rows, cost, evidence=evidence)
    if mixer.lifted_dim is not None:
        reason = f"phi is linear after a finite lift of {mixer.lifted_dim} rows per head: one sum serves every query"
        return Outcome("pass", site.at("readout"), reason, evidence=evidence)
    special = _smaller_memory(mixer)
    if special is not None:
        reason = f"{special}, so a running sum may be enough; no form here makes use of it"
        return Outcome("unknown", site.at("readout"), reason, evidence=evidence)
    return _quadratic(site, cost, evidence)


def _smaller_memory(mixer: MixerSpec) -> str | None:
    """Why the weights of a nonlinear phi may need less than all keys; None where nothing says so."""
    features, still = mixer.features, mixer.evolution_is_identity
    if features.map in ("ones", "static") and _moves_by_factors(mixer):
        return "queries and keys are constant"
    if still and _is_a_sign(mixer):
        return "a norm leaves only the signs of the one number in queries and keys"
    if not isinstance(mixer.readout, Relu) or mixer.readout.is_capped:
        return None
    if still and (mixer.key_dim == 1 or features.map == "scaled_static"):
        return "the score is a product of one number of the query and one of the key, which a relu takes apart by sign"
    unmoved = mixer.rotation.is_identity and mixer.erase.is_identity
    if features.is_nonnegative and unmoved and (mixer.shear.is_identity or mixer.shear.source == "table"):
        return "scores of features without signs are never negative, and a relu is a power of them there"
    return None


def _is_a_sign(mixer: MixerSpec) -> bool:
    """Keys of one number each, which the norm of a head divides by its size."""
    features = mixer.features
    return (mixer.key_dim == 1 or features.map == "scaled_static") and (
        features.norm != "none" and features.norm_over == "head"
    )


def _moves_by_factors(mixer: MixerSpec) -> bool:
    """Nothing is added to the scores but a table of the nearest, or what an exponential makes a factor of the key."""
    alone = mixer.lift.kind in ("none", "delay1") and all(
        part.is_identity for part in (mixer.decay, mixer.rotation, mixer.erase)
    )
    factor = isinstance(mixer.readout, Exponential) and not mixer.readout.is_capped
    return alone and (mixer.shear.is_identity or mixer.shear.source == "table" or factor)


def _numbers(cost: MixerCost, seq_len: int) -> Evidence:
    """Work and decode memory of a layer at the target length."""
    growth = {"cache_growth": quantity(cost.cache_bytes_per_token, "bytes per token and layer")}
    return {
        "training_macs": quantity(cost.training.cheapest * seq_len, "MACs per layer and sequence, forward"),
        "state": quantity(cost.state_bytes, "bytes per layer and sequence"),
        "cache": quantity(cost.cache_bytes, "bytes per layer and sequence"),
        **(growth if cost.cache_bytes_per_token else {}),
    }


def _bound(mixer: MixerSpec) -> tuple[str, int] | None:
    """The field that bounds the keys at work for a query, and their number.

    Keys beyond the taps of a shift have score 0, and those beyond a table under a linear phi a score of finite rank:
    a running sum holds what is left of them.
    """
    linear = mixer.lifted_dim is not None or mixer.score_is_additive
    if mixer.support.window is not None:
        return "support.window", mixer.support.window
    if mixer.lift.width is not None:
        return "lift.width", mixer.lift.width
    if mixer.shear.width is not None and linear:
        return "shear.width", mixer.shear.width
    if mixer.support.chunk is not None and not mixer.is_finite_memory:
        return "support.chunk", mixer.support.chunk
    return None


def _bounded(site: Site, field: str, bound: int, *, evidence: Evidence) -> Outcome:
    seq_len, name = site.target.seq_len, field.partition(".")[2]
    evidence = {**evidence, "keys": quantity(bound, "tokens"), "seq_len": quantity(seq_len, "tokens")}
    if bound < seq_len or site.mixer.lifted_dim is not None:
        reason = f"the {name} of {bound:,} bounds the keys that are kept, and the work is at most L x {bound:,}"
        return Outcome("pass", site.at(field), reason, evidence=evidence)
    return Outcome(
        "pass",
        site.at(field),
        f"the {name} of {bound:,} bounds the keys that are kept, but it is no less than the length {seq_len:,}: the"
        " cost is that of full attention here.",
        kind=Kind.NOTE,
        evidence=evidence,
    )


def _finite(site: Site, rows: int, cost: MixerCost, *, evidence: Evidence) -> Outcome:
    """A linear phi, as the form runs it: the function stays linear however a kernel computes it."""
    mixer, seq_len = site.mixer, site.target.seq_len
    reason = f"finite state of {cost.state_bytes:,} bytes per layer at any length"
    if mixer.lift.kind == "fenwick":
        levels = seq_len.bit_length()
        reason = f"log-linear: {levels} bucket states, {cost.state_bytes:,} bytes per layer at length {seq_len:,}"
    within_chunk = mixer.support.chunk is not None and mixer.support.chunk < seq_len
    match mixer.execution.form:
        case "quadratic" if not within_chunk:
            work = cost.training.quadratic * seq_len
            return Outcome(
                "pass",
                site.at("execution.form"),
                f"{reason}, but `form: quadratic` computes (Q K^T) V in {work:.3g} MACs; a recurrent or chunked form of"
                f" the same function takes {cost.training.cheapest * seq_len:.3g}.",
                kind=Kind.NOTE,
                evidence={**evidence, "quadratic_macs": quantity(work, "MACs per layer and sequence, forward")},
            )
        case "scan" if mixer.lift.kind != "fenwick":
            return _scan(site, rows, reason, evidence=evidence)
        case _:
            return Outcome("pass", site.at("readout"), reason, evidence=evidence)


def _scan(site: Site, rows: int, reason: str, *, evidence: Evidence) -> Outcome:
    """A scan stores the state of every position."""
    mixer, heads = site.mixer, site.mixer.heads
    crossover = rows * heads.head_dim
    stored = DTYPE_BYTES[mixer.execution.dtype.state] * heads.num_heads * crossover * site.target.seq_len
    return Outcome(
        "pass",
        site.at("execution.form"),
        f"{reason}, but a scan stores one n x p state per position, {stored:,} bytes: more than the L x L matrix until"
        f" L > n p = {crossover:,}; the chunked form needs about n = {mixer.key_dim}.",
        kind=Kind.NOTE,
        evidence={
            **evidence,
            "prefix_states": quantity(stored, "bytes per layer and sequence"),
            "crossover_length": quantity(crossover, "tokens"),
            "chunked_crossover_length": quantity(mixer.key_dim, "tokens"),
        },
    )


def _quadratic(site: Site, cost: MixerCost, evidence: Evidence) -> Outcome:
    mixer, seq_len = site.mixer, site.target.seq_len
    macs = cost.training.cheapest * seq_len
    pairs = "L^2" if mixer.support.mask == "none" else "L^2 / 2"
    cache = (
        ""
        if mixer.support.mask == "none"
        else f", and a cache of {cost.cache_bytes:,} bytes that grows with every token"
    )
    capped = "capped " if mixer.readout.is_capped else ""
    uncapped = mixer.readout.model_copy(update={"softcap": None})
    field = "readout" if readouts.polynomial_coefficients(uncapped) is None else "readout.softcap"
    return Outcome(
        "fail",
        site.at(field),
        f"the {capped}{mixer.readout.kind} readout has no finite lift: at length {seq_len:,} a layer takes {macs:.3g}"
        f" MACs per sequence, at least (n + p) H {pairs}{cache}.",
        kind=Kind.QUADRATIC_COST,
        evidence=evidence,
        assumptions=(f"the cache is kept in {site.target.dtype}",),
    )


rule = Rule(
    code="CD101",
    name="quadratic-cost",
    group="suspect",
    precision="very-high",
    what="The readout phi is not linear after a finite lift, so training costs L^2 and the decode cache grows with L.",
    why="A recurrence with a finite state exists iff phi is the identity, a polynomial (state rows: the sum of"
    " C(n + d - 1, d) over its degrees d), or an exponential of an additive score. Every other readout needs all past"
    " keys. A feature map on q and k does not change this.",
    exceptions=(
        "An exponential readout with constant queries factorises (RWKV-4): the recurrence is finite.",
        "A window, a chunk or the taps of a convolution bound the cache; log-linear attention keeps log2 L states.",
        "Constant queries and keys, one channel behind a norm, a score of one channel under a relu, and a relu of"
        " features without signs: a running sum may be enough, the answer is unknown.",
        "A learned table of lags under a linear phi is a convolution beside a finite state.",
        "The verdict is about the function: a linear readout run as (Q K^T) V passes, with a remark.",
        "Counters of floating-point operations do not see this: fused attention looks linear to them.",
    ),
    fix="Take an identity or polynomial readout, a window, or accept the cost; set `target.linear_time` to make it an"
    " error.",
    references=("arXiv 2510.09389, principle 1", "arXiv 2006.16236"),
    passes=(
        {"mixer": {"readout": {"kind": "identity"}, "io": {"output_norm": "head_rms"}}},
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}, "heads": {"state_dim": 16}}},
        {"mixer": {"readout": {"kind": "exponential"}, "support": {"window": 128}}},
        "catalogue:mamba2",
    ),
    fails=(
        {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "identity", "softcap": 50.0}}},
        "catalogue:softmax_nope",
    ),
    kinds=(
        Kind.QUADRATIC_COST,
        Kind.NOTE,
    ),
    fields_read=(
        "readout",
        "decay",
        "rotation",
        "erase",
        "shear",
        "lift",
        "features.map",
        "support",
        "heads",
        "normalization.kind",
        "execution.form",
        "execution.dtype.state",
        "model.model_dim",
        "target.seq_len",
        "target.dtype",
        "target.linear_time",
    ),
    check=per_mixer(judge),
)
