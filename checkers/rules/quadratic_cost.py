"""CD101 quadratic-cost: training work grows with the square of the length, and the cache with the length."""

from checkers.finding import Quantity, quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.cost import MixerCost, mixer_cost


def judge(site: Site) -> Outcome:
    """P1: is there a finite lift of phi, or a support that bounds what a query reads?"""
    mixer, seq_len = site.mixer, site.target.seq_len
    bound = mixer.support.window or mixer.support.chunk
    if mixer.is_finite_memory:
        return _finite(site)
    if bound is not None:
        return _bounded(site, bound)
    if mixer.lifted_dim is not None:
        reason = (
            f"log-linear: {seq_len.bit_length()} bucket states at length {seq_len}"
            if mixer.lift.kind == "fenwick"
            else f"phi is linear after a finite lift of {mixer.lifted_dim} rows per head"
        )
        return Outcome("pass", site.at("readout"), reason)
    cost = _cost(site)
    macs = cost.training.quadratic * seq_len
    return Outcome(
        "fail",
        site.at("readout"),
        f"the {mixer.readout.kind} readout has no finite lift: at length {seq_len:,} a layer takes {macs:.3g} MACs per"
        f" sequence, about (n + p) H L^2 / 2, and a cache of {cost.cache_bytes:,} bytes that grows with every token.",
        kind=Kind.QUADRATIC_COST,
        evidence={
            "training_macs": quantity(macs, "MACs per layer and sequence, forward"),
            "cache": quantity(cost.cache_bytes, "bytes per layer and sequence"),
            "cache_growth": quantity(cost.cache_bytes_per_token, "bytes per token and layer"),
        },
        assumptions=(f"the cache is kept in {site.target.dtype}",),
    )


def _cost(site: Site) -> MixerCost:
    return mixer_cost(site.mixer, model_dim=site.context.candidate.model.model_dim, target=site.target)


def _finite(site: Site) -> Outcome:
    mixer, seq_len = site.mixer, site.target.seq_len
    if mixer.execution.form not in ("quadratic", "scan"):
        return Outcome("pass", site.at("readout"), "the state is finite and the same at any length")
    state = _cost(site).state_bytes
    reason = f"finite state of {state:,} bytes per layer at any length"
    evidence: dict[str, Quantity] = {"state": quantity(state, "bytes per layer and sequence")}
    if mixer.execution.form == "quadratic":
        return Outcome(
            "pass",
            site.at("execution.form"),
            f"{reason}, but `form: quadratic` computes (Q K^T) V in {seq_len:,}^2 steps; a recurrent or chunked form of"
            " the same function is linear.",
            kind=Kind.NOTE,
            evidence=evidence,
        )
    crossover = mixer.key_dim * mixer.heads.head_dim
    return Outcome(
        "pass",
        site.at("execution.form"),
        f"{reason}, but a scan stores one n x p state per position: more than the L x L matrix until"
        f" L > n p = {crossover:,}; the chunked form needs about n = {mixer.key_dim}.",
        kind=Kind.NOTE,
        evidence=evidence | {"crossover_length": quantity(crossover, "tokens")},
    )


def _bounded(site: Site, bound: int) -> Outcome:
    seq_len = site.target.seq_len
    field = "support.window" if site.mixer.support.window else "support.chunk"
    if bound < seq_len:
        return Outcome("pass", site.at(field), f"the cache stops at {bound} keys, and the work is L x {bound}")
    return Outcome(
        "pass",
        site.at(field),
        f"the cache stops at {bound} keys, but that is no less than the length {seq_len}: the cost is that of full"
        " attention here.",
        kind=Kind.NOTE,
        evidence={"keys": quantity(bound, "tokens"), "seq_len": quantity(seq_len, "tokens")},
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
        "A window or a chunk bounds the cache; log-linear attention keeps log2 L states.",
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
        "execution.form",
        "target.seq_len",
        "target.linear_time",
    ),
    check=per_mixer(judge),
)
