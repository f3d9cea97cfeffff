"""CD704 rank-collapse: layers that average tokens without a skip make all tokens equal."""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, islice
from operator import add, itemgetter, mul, sub, truediv
from typing import NamedTuple

from checkers import scores
from checkers.bounds import lowest_value, score_interval
from checkers.finding import Quantity, quantity, setting
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.candidate import Block
from designspace.composition import Parallel
from designspace.mixer import MixerSpec
from designspace.support import Support

MAX_POSITIONS = 64
MAX_LAYERS = 12  # of the surrogate that are shown
MAX_DEPTH = 32  # of the surrogate; 32 full averages leave less than 1e-6
COLLAPSED = 0.5  # of the distance left; four uniform averages of 64 tokens leave 0.29

Layer = tuple[Support, float]  # what a row averages, and the weight of the skip beside it


class Run(NamedTuple):
    """Layers that every path through the stack averages: their number and the blocks that hold them."""

    depth: int
    blocks: tuple[int, ...]


def judge(context: Context) -> Iterable[Outcome]:
    """The averages that no path through the stack avoids (lambda = 0), and what the uniform surrogate says of them."""
    if context.target.seq_len == 1:
        return [Outcome("pass", "target.seq_len", "a single token is its own mean")]
    run = longest_run(context)
    if not run.blocks:
        return [_beside_skips(context)]
    path, layers = f"blocks[{run.blocks[0]}].skip.lambda", {"layers_without_skip": quantity(run.depth, "layers")}
    if run.depth < context.thresholds.rank_collapse.depth:
        return [Outcome("pass", path, f"only {run.depth} layers average on every path", evidence=layers)]
    mixers = [mixer for index in run.blocks for mixer in context.candidate.blocks[index].mixers]
    if any(_fades(mixer) or _is_narrow(context, mixer) for mixer in mixers):
        reason = f"{run.depth} layers average on every path, over spans that a decay, a bias or wide scores decide"
        return [Outcome("unknown", path, reason, evidence=layers)]
    left = relative_distances(_layers(context, run.blocks, MAX_DEPTH), _positions(context))
    evidence = layers | _evidence(context, left)
    if left[-1] > COLLAPSED:
        reason = f"{run.depth} layers average on every path, over spans that leave {left[-1]:.2g} of the distance"
        return [Outcome("pass", path, reason, evidence=evidence)]
    return [
        Outcome(
            "fail",
            path,
            f"{run.depth} layers average their input without a skip (lambda = 0) on every path: tokens keep about"
            f" {left[-1]:.2g} of their distance to the mean token.",
            kind=Kind.MEMORY,
            evidence=evidence,
            assumptions=("uniform surrogate: row i averages the keys it sees; an estimate of the order of magnitude",),
            sources=("arXiv 2410.10609", "arXiv 2103.03404"),
            fix=setting("unsafe", {f"blocks[{index}].skip.lambda": 1.0 for index in run.blocks}),
        )
    ]


def longest_run(context: Context) -> Run:
    """The longest run of averages on every path. Averages beside a skip, and layers without a mixer, bring back no
    distance: they neither count nor end it; a mixer that does not average may, and ends it.
    """
    best, run = Run(0, ()), Run(0, ())
    for index, block in enumerate(context.candidate.blocks):
        if block.mixer is None:
            continue
        if not _all_average(context, block):
            run = Run(0, ())
        elif block.skip.weight == 0:
            run = Run(run.depth + block.repeat, (*run.blocks, index))
            best = max(best, run, key=lambda one: one.depth)
    return best


def _beside_skips(context: Context) -> Outcome:
    """No average is forced: where every mixer averages, what the skips beside them keep of the distance."""
    blocks = tuple(index for index, block in enumerate(context.candidate.blocks) if block.mixer is not None)
    if not blocks or not all(_all_average(context, context.candidate.blocks[index]) for index in blocks):
        return Outcome("pass", "blocks", "no layer without a skip divides rows of positive terms by their sum")
    left = relative_distances(_layers(context, blocks, MAX_LAYERS), _positions(context))
    reason = f"a skip stands beside every average: tokens keep about {left[-1]:.2g} of their distance"
    return Outcome("pass", "blocks", reason, evidence=_evidence(context, left))


def _all_average(context: Context, block: Block) -> bool:
    """Every mixer of the block averages, and none is taken away from another."""
    if isinstance(block.mixer, Parallel) and min(block.mixer.branch_weights) < 0:
        return False
    return all(_averages(mixer, context.target.seq_len) for mixer in block.mixers)


def _averages(mixer: MixerSpec, seq_len: int) -> bool:
    """Each row holds positive weights over their sum, and the token itself enters nowhere else: no term beside the row,
    no gate on the output.
    """
    alone = mixer.support.diagonal == "none" and mixer.io.gate == "none"
    by_sum = mixer.normalization.kind == "sum"
    return by_sum and alone and lowest_value(mixer.readout, score_interval(mixer, seq_len)) >= 0.0


def _fades(mixer: MixerSpec) -> bool:
    """Far keys weigh less, by as much as training decides: the average is no uniform one."""
    return not mixer.decay.is_identity or not mixer.shear.is_identity


def _is_narrow(context: Context, mixer: MixerSpec) -> bool:
    """Scores that start wider than CD501's band make rows that hold a few keys, where phi is not homogeneous."""
    found = None if readouts.homogeneous_degree(mixer.readout) is not None else scores.score_moments(mixer)
    return found is not None and found.std > context.thresholds.score_scale.band[1]


def _layers(context: Context, indices: Iterable[int], limit: int) -> tuple[Layer, ...]:
    """The first layers of these blocks; of parallel branches the one that averages the fewest tokens."""
    blocks = (context.candidate.blocks[index] for index in indices)
    found = (
        (min((mixer.support for mixer in block.mixers), key=_size), block.skip.weight)
        for block in blocks
        for _ in range(block.repeat)
    )
    return tuple(islice(found, limit))


def _size(support: Support) -> int:
    return min(support.window or MAX_POSITIONS, support.chunk or MAX_POSITIONS)


def _positions(context: Context) -> int:
    return min(context.target.seq_len, MAX_POSITIONS)


def _evidence(context: Context, left: tuple[float, ...]) -> dict[str, Quantity]:
    return {
        "relative_distance": quantity(left[-1], "of |X|"),
        "relative_distance_by_layer": quantity(left[:MAX_LAYERS], "of |X|"),
        "positions": quantity(_positions(context), "tokens"),
    }


@lru_cache(256)
def relative_distances(layers: tuple[Layer, ...], positions: int) -> tuple[float, ...]:
    """|X - mean| / |X| of at least two random tokens X after each layer M + weight I; M averages what a row sees.

    The loops over rows run in C, or this would take 40 ms for 12 layers.
    """
    columns = [[1.0 if row == column else 0.0 for row in range(positions)] for column in range(positions)]
    found = []
    for support, weight in layers:
        spans = [_span(support, row, positions) for row in range(positions)]
        first, last = itemgetter(*(start for start, _ in spans)), itemgetter(*(end for _, end in spans))
        sizes = [(1.0 + weight) * max(end - start, 1) for start, end in spans]  # no ratio sees the 1 + weight
        kept = [weight / (1.0 + weight)] * positions
        sums = (tuple(accumulate(column, initial=0.0)) for column in columns)
        averages = (map(truediv, map(sub, last(one), first(one)), sizes) for one in sums)
        columns = [list(map(add, next(averages), map(mul, kept, column))) for column in columns]
        total = sum(sum(map(mul, column, column)) for column in columns)
        common = sum(sum(column) ** 2 for column in columns) / positions
        found.append(math.sqrt(max(1.0 - common / total, 0.0)) if total else 0.0)
    return tuple(found)


def _span(support: Support, row: int, positions: int) -> tuple[int, int]:
    """First key that a row sees, and one past the last."""
    start, end = 0, positions if support.mask == "none" else row + (support.mask == "causal")
    if support.window is not None:
        start, end = max(0, row + 1 - support.window), min(end, row + support.window)
    if support.chunk is not None:
        start = row - row % support.chunk
        end = min(end, start + support.chunk)
    return start, end


rule = Rule(
    code="CD704",
    name="rank-collapse",
    group="suspect",
    precision="medium",
    what="Four or more layers in a row have row-normalised coefficients and no skip around the mixer (lambda = 0).",
    why="Averaging is a contraction towards the mean token: simulated causal softmax layers without a skip keep 0.85,"
    " 0.27, 0.0009 of the relative distance after 1, 4, 12 layers; with a skip of 1, 0.98, 0.77, 0.16.",
    exceptions=(
        "The path over depth decides, not one sub-layer: fewer than four averages without a skip are a pass.",
        "A D term or a bonus on the diagonal and a gate on the output are skips of their own.",
        "Windows and chunks of a few tokens average too little: the surrogate takes them into account.",
        "Under a decay, a distance bias or scores too wide for CD501 the span of the average is not known: unknown.",
        "A difference of two averages (differential attention) is none.",
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
    fields_read=(
        "blocks",
        "normalization.kind",
        "readout",
        "features",
        "scaling",
        "heads",
        "decay",
        "shear",
        "support",
        "io",
        "target.seq_len",
    ),
    check=judge,
    reads_stack=True,
)
