"""CD704 rank-collapse: layers that average tokens without a skip make all tokens equal."""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby

from checkers.finding import quantity, setting
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind
from designspace.candidate import Block
from designspace.mixer import MixerSpec

MAX_POSITIONS = 64
MAX_SHOWN_LAYERS = 16


def judge(context: Context) -> Iterable[Outcome]:
    """The longest run of layers that average rows and have lambda = 0, and what the uniform surrogate says of it."""
    runs = _runs(context)
    if not any(run[0] for run in runs):
        return [Outcome("pass", "blocks", "no layer both averages rows and lacks a skip")]
    _, depth, first, last = max(run for run in runs if run[0])
    path = f"blocks[{first}].skip.lambda"
    if depth < context.thresholds.rank_collapse.depth:
        return [Outcome("pass", path, f"only {depth} layers in a row average without a skip")]
    positions = min(context.target.seq_len, MAX_POSITIONS)
    left = relative_distance(depth, positions)
    return [
        Outcome(
            "fail",
            path,
            f"{depth} layers in a row average their input and have no skip (lambda = 0): tokens keep about {left:.2g}"
            " of their distance to the mean token.",
            kind=Kind.MEMORY,
            evidence={
                "layers_without_skip": quantity(depth, "layers"),
                "relative_distance": quantity(left),
                "relative_distance_by_layer": quantity(
                    tuple(relative_distance(layer, positions) for layer in range(1, min(depth, MAX_SHOWN_LAYERS) + 1))
                ),
                "positions": quantity(positions, "tokens"),
            },
            assumptions=("uniform surrogate: row i averages its i keys; an estimate of the order of magnitude",),
            sources=("arXiv 2410.10609", "arXiv 2103.03404"),
            fix=setting("unsafe", {f"blocks[{index}].skip.lambda": 1.0 for index in range(first, last + 1)}),
        )
    ]


def _runs(context: Context) -> list[tuple[bool, int, int, int]]:
    """(averages without a skip, layers, first block, last block) of each run of blocks that are alike in this."""
    blocks = enumerate(context.candidate.blocks)
    runs = []
    for averaging, group in groupby(blocks, key=lambda pair: _averages_without_skip(pair[1])):
        members = list(group)
        runs.append((averaging, sum(block.repeat for _, block in members), members[0][0], members[-1][0]))
    return runs


def _averages_without_skip(block: Block) -> bool:
    return bool(block.mixers) and block.skip.weight == 0 and all(_averages(mixer) for mixer in block.mixers)


def _averages(mixer: MixerSpec) -> bool:
    """Each row is divided by its sum, and nothing is added to or multiplied with it afterwards."""
    scaled = mixer.scaling.where == "after" and (mixer.base != 1.0 or mixer.scaling.learnable)
    return mixer.normalization.kind == "sum" and not scaled and mixer.support.diagonal != "D"


@lru_cache(256)
def relative_distance(depth: int, positions: int) -> float:
    """|X - mean| / |X| of random tokens X after `depth` layers of M_ij = 1 / i, the uniform causal average."""
    columns = [[1.0 if row == column else 0.0 for row in range(positions)] for column in range(positions)]
    for _ in range(depth):
        columns = [_running_mean(column) for column in columns]
    total = sum(value * value for column in columns for value in column)
    spread = sum((value - sum(column) / positions) ** 2 for column in columns for value in column)
    return math.sqrt(spread / total)


def _running_mean(column: list[float]) -> list[float]:
    means, total = [], 0.0
    for index, value in enumerate(column):
        total += value
        means.append(total / (index + 1))
    return means


rule = Rule(
    code="CD704",
    name="rank-collapse",
    group="suspect",
    precision="medium",
    what="Four or more layers in a row have row-normalised coefficients and no skip around the mixer (lambda = 0).",
    why="Averaging is a contraction towards the mean token: simulated causal softmax layers without a skip keep 0.85,"
    " 0.27, 0.0009 of the relative distance after 1, 4, 12 layers; with a skip of 1, 0.98, 0.77, 0.16.",
    exceptions=(
        "A skip of any weight above 0 on the way is counted: the run of layers without one decides, not one sub-layer.",
        "A D term on the diagonal is a skip of its own.",
        "The surrogate is uniform averaging: right in order, not in digits.",
    ),
    fix="Set `skip: {lambda: 1.0}`.",
    references=("arXiv 2410.10609", "arXiv 2103.03404"),
    passes=(
        {"blocks": [{"repeat": 12, "mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}}]},
    ),
    fails=(
        {
            "blocks": [
                {
                    "repeat": 4,
                    "skip": {"lambda": 0.0},
                    "mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}},
                }
            ]
        },
    ),
    kinds=(Kind.MEMORY,),
    fields_read=("blocks", "normalization.kind", "support.diagonal", "target.seq_len"),
    check=judge,
    reads_stack=True,
)
