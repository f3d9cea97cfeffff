"""CD702 recall-capacity: more pairs to recall than additive writes into the state can keep apart."""

import math
from collections.abc import Iterable

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind


def judge(context: Context) -> Iterable[Outcome]:
    """Capacity of every additive state against `target.recall_pairs`; a cache in the stack has no such limit."""
    pairs = context.target.recall_pairs
    if pairs is None:
        return [Outcome("unknown", "target.recall_pairs", "`target.recall_pairs` is not declared")]
    exact = [site for site in context.sites if not site.mixer.is_finite_memory]
    if exact:
        return [Outcome("pass", exact[0].path, "a mixer of the stack keeps keys, not a sum of them")]
    return [_judge_state(site, pairs) for site in context.sites]


def _judge_state(site: Site, pairs: int) -> Outcome:
    mixer = site.mixer
    if not mixer.erase.is_identity:
        return Outcome("inapplicable", site.at("erase"), "writes are not additive: the erase makes room")
    rows = mixer.lifted_dim or 1
    per_row = site.thresholds.recall_capacity.pairs_per_row
    capacity = math.floor(per_row * rows)
    if pairs <= capacity:
        return Outcome("pass", site.at("heads"), f"{pairs} pairs, about {per_row:g} n = {capacity} fit")
    return Outcome(
        "fail",
        site.at("heads.state_dim"),
        f"{pairs} pairs to recall, but additive writes keep about {per_row:g} n = {capacity} apart ({rows} rows x"
        f" {mixer.heads.head_dim} per head, {mixer.heads.num_heads} heads).",
        kind=Kind.MEMORY,
        evidence={
            "recall_pairs": quantity(pairs, "pairs"),
            "capacity": quantity(capacity, "pairs"),
            "state_rows": quantity(rows, "rows per head"),
            "state": quantity(mixer.heads.num_heads * rows * mixer.heads.head_dim, "numbers per layer"),
        },
        assumptions=("random keys, one write per pair, no erase",),
    )


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
        "One layer with a cache (attention, a window) lifts the limit for the stack.",
        "Without `recall_pairs` the answer is unknown.",
    ),
    fix="Raise `heads.state_dim` to half of the pairs, widen the feature map, erase before writing, or add attention.",
    references=("arXiv 2312.04927", "arXiv 2402.18668"),
    passes=({"target": {"recall_pairs": 64}, "mixer": {"heads": {"state_dim": 64}}},),
    fails=({"target": {"recall_pairs": 64}, "mixer": {"heads": {"state_dim": 16}}},),
    kinds=(Kind.MEMORY,),
    fields_read=("heads", "readout", "features.map", "erase", "target.recall_pairs"),
    check=judge,
    reads_stack=True,
)
