"""CD702 recall-capacity: more pairs to recall than additive writes into the state can keep apart."""

import math
from collections.abc import Iterable

from checkers.finding import Quantity, quantity
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace.mixer import MixerSpec


def judge(context: Context) -> Iterable[Outcome]:
    """Capacity of the largest additive state against `target.recall_pairs`, where no layer can do better."""
    pairs = context.target.recall_pairs
    if pairs is None:
        return [Outcome("unknown", "target.recall_pairs", "`target.recall_pairs` is not declared")]
    if not context.sites:
        return []
    keeps = max(context.sites, key=lambda site: kept_keys(site.mixer, context.target.seq_len))
    kept = kept_keys(keeps.mixer, context.target.seq_len)
    if kept >= pairs:
        return [_keeps_keys(keeps, pairs, kept)]
    erasing = next((site for site in context.sites if not site.mixer.erase.is_identity), None)
    if erasing is not None:
        return [Outcome("inapplicable", erasing.at("erase"), "writes are not additive: the erase makes room")]
    additive = [site for site in context.sites if _is_additive(site.mixer)]
    if not additive:
        reason = f"no state that is added to; the caches keep {kept:,} keys, and CD703 judges the reach"
        return [Outcome("inapplicable", keeps.at("support"), reason)]
    return [_judge_state(max(additive, key=lambda site: state_rows(site.mixer, context.target.seq_len)), pairs)]


def kept_keys(mixer: MixerSpec, seq_len: int) -> int:
    """Keys that a cache keeps apart: those in the support of a query; 0 where they are summed into a state."""
    if _is_additive(mixer):
        return 0
    return mixer.support.span(seq_len)


def _is_additive(mixer: MixerSpec) -> bool:
    """Keys are added up in a state of fixed size, or in one for each level of a Fenwick tree."""
    return mixer.is_finite_memory or (mixer.lift.kind == "fenwick" and mixer.lifted_dim is not None)


def state_rows(mixer: MixerSpec, seq_len: int) -> int:
    """Rows of the state of one head, all levels together."""
    rows = mixer.lifted_dim or 1
    return rows * ((seq_len - 1).bit_length() + 1) if mixer.lift.kind == "fenwick" else rows


def _keeps_keys(site: Site, pairs: int, kept: int) -> Outcome:
    evidence = {"recall_pairs": quantity(pairs, "pairs"), "kept_keys": quantity(kept, "keys")}
    reason = f"a mixer of the stack keeps {kept:,} keys apart, not a sum of them"
    return Outcome("pass", site.path, reason, evidence=evidence)


def _judge_state(site: Site, pairs: int) -> Outcome:
    mixer = site.mixer
    rows = state_rows(mixer, site.target.seq_len)
    per_row = site.thresholds.recall_capacity.pairs_per_row
    capacity = math.floor(per_row * rows)
    evidence = _evidence(site, pairs, capacity, rows)
    assumptions = ("random keys, one write per pair, no erase; 2 n pairs keep a simulated recall of about 0.95",)
    if pairs <= capacity:
        reason = f"{pairs} pairs, about {per_row:g} n = {capacity} fit"
        return Outcome("pass", site.at("heads"), reason, evidence=evidence, assumptions=assumptions)
    return Outcome(
        "fail",
        site.at("heads.state_dim"),
        f"{pairs} pairs to recall, but additive writes keep about {per_row:g} n = {capacity} apart (state {rows} rows x"
        f" {mixer.heads.head_dim} per head, {mixer.heads.num_heads} heads ="
        f" {mixer.heads.num_heads * rows * mixer.heads.head_dim:,} numbers per layer).",
        kind=Kind.MEMORY,
        evidence=evidence,
        assumptions=assumptions,
    )


def _evidence(site: Site, pairs: int, capacity: int, rows: int) -> dict[str, Quantity]:
    mixer = site.mixer
    return {
        "recall_pairs": quantity(pairs, "pairs"),
        "capacity": quantity(capacity, "pairs"),
        "state_rows": quantity(rows, "rows per head"),
        "state": quantity(mixer.heads.num_heads * rows * mixer.heads.head_dim, "numbers per layer"),
        "state_bytes": quantity(site.cost.state_bytes, "bytes per layer"),
    }


rule = Rule(
    code="CD702",
    name="recall-capacity",
    group="suspect",
    precision="medium",
    what="`target.recall_pairs` exceeds about twice the rows of a state that is only added to.",
    why="n orthogonal keys fit into n rows. Additive writes of random keys interfere: simulated recall with n = 16"
    " falls from 0.95 to 0.37 between 32 and 128 pairs, with n = 64 it stays at 0.98 for 128.",
    exceptions=(
        "The delta rule overwrites and is not judged.",
        "One layer with a cache that holds as many keys (attention, a wide enough window) lifts the limit.",
        "The largest state of the stack counts; a Fenwick tree has one for each level.",
        "Without `recall_pairs` the answer is unknown.",
    ),
    fix="Raise `heads.state_dim` to half of the pairs, widen the feature map, erase before writing, or add attention.",
    references=("arXiv 2312.04927", "arXiv 2402.18668"),
    passes=({"target": {"recall_pairs": 64}, "mixer": {"heads": {"state_dim": 64}}},),
    fails=({"target": {"recall_pairs": 64}, "mixer": {"heads": {"state_dim": 16}}},),
    kinds=(Kind.MEMORY,),
    fields_read=(
        "heads",
        "readout",
        "features.map",
        "features.width",
        "erase",
        "lift",
        "support",
        "target.recall_pairs",
        "target.seq_len",
    ),
    check=judge,
    reads_stack=True,
)
