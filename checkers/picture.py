"""What a picture of a candidate shows: the stack in rows, and the coefficients of its mixers at a small length.

The stack follows from the candidate. Coefficients take torch, which this package does not import: `Heatmap`
is filled by the caller (`search.commands.heatmaps`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from designspace.candidate import Block, Candidate
from designspace.composition import Parallel
from designspace.mixer import MixerSpec
from designspace.outside import Outside

BoxKind = Literal["end", "mixer", "outside", "channel"]


@dataclass(frozen=True, slots=True)
class Box:
    """One part of the stack; `path` is where it stands in its block (empty: nowhere of its own)."""

    kind: BoxKind
    title: str
    detail: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Boxes side by side, with the norm before them and the weight lambda of the skip around them (None: no skip)."""

    boxes: tuple[Box, ...]
    norm: str = "none"
    skip: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that follow each other `repeat` times. `paths` are all the blocks that the rows stand for."""

    title: str
    rows: tuple[Row, ...]
    repeat: int = 1
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Heatmap:
    """|alpha_ij| of one head: a row per output position i, a column per source position j (micro-steps side by side).

    `note` says how it was made, or why there is none (`rows` is empty then).
    """

    title: str
    rows: tuple[tuple[float, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """The drawing of one candidate from embedding to head; its blocks are `groups`, `times` times over."""

    embedding: Box
    groups: tuple[Group, ...]
    head: Box
    times: int = 1
    heatmaps: tuple[Heatmap, ...] = ()


def picture(candidate: Candidate, heatmaps: Sequence[Heatmap] = ()) -> Picture:
    """The drawing of the stack of `candidate`, with the heat maps given.

    Blocks in a row that look alike are one group; where the whole stack is one pattern several times over, it is drawn
    once.
    """
    model, rows = candidate.model, [_rows(block) for block in candidate.blocks]
    runs = _runs(rows)
    layers = [sum(candidate.blocks[index].repeat for index in run) for run in runs]
    period = _period([(rows[run[0]], count) for run, count in zip(runs, layers, strict=True)])
    return Picture(
        embedding=Box(
            "end", "embedding", f"{model.vocab_size:,} tokens, {model.model_dim} wide, positions {model.positions}"
        ),
        groups=tuple(
            _group(rows[runs[phase][0]], runs[phase::period], repeat=layers[phase]) for phase in range(period)
        ),
        head=Box("end", "head", f"{model.vocab_size:,} tokens"),
        times=len(runs) // period,
        heatmaps=tuple(heatmaps),
    )


def _runs(rows: Sequence[tuple[Row, ...]]) -> list[range]:
    """The indices of each run of blocks that look alike."""
    starts = [index for index, one in enumerate(rows) if index == 0 or one != rows[index - 1]]
    return [range(start, stop) for start, stop in pairwise([*starts, len(rows)])]


def _period(items: Sequence[object]) -> int:
    """Length of the shortest pattern whose repetition is `items`."""
    count = len(items)
    return next(length for length in range(1, count + 1) if count % length == 0 and items[length:] == items[:-length])


def _group(rows: tuple[Row, ...], runs: Sequence[range], *, repeat: int) -> Group:
    """The group of the blocks that `runs` hold; its title names the first run."""
    first = runs[0]
    title = f"blocks[{first[0]}]" + (f" to [{first[-1]}]" if len(first) > 1 else "")
    return Group(title, rows, repeat, tuple(f"blocks[{index}]" for run in runs for index in run))


def _rows(block: Block) -> tuple[Row, ...]:
    rows = []
    mixers = _mixers(block)
    if mixers:
        rows.append(Row(mixers, block.norm.kind, block.skip.weight if block.skip.weight > 0 else None))
    if block.channel_mixer.kind != "none":
        box = Box("channel", block.channel_mixer.kind, f"hidden width {block.channel_mixer.ratio:g} x model")
        rows.append(Row((box,), block.norm.kind, 1.0))
    return tuple(rows)


def _mixers(block: Block) -> tuple[Box, ...]:
    match block.mixer:
        case None:
            return ()
        case Outside(outside=kind, reason=reason):
            return (Box("outside", kind.replace("_", " "), reason, "mixer"),)
        case Parallel(parallel=branches):
            return tuple(mixer_box(mixer, f"mixer.parallel[{index}]") for index, mixer in enumerate(branches))
        case mixer:
            return (mixer_box(mixer, "mixer"),)


def mixer_box(mixer: MixerSpec, path: str = "") -> Box:
    """How a mixer is drawn: readout, what moves the keys, sizes. Mixers that differ in numbers look alike."""
    moving = [name for name in ("decay", "rotation", "erase", "shear") if not getattr(mixer, name).is_identity]
    moving += ["lift"] * (mixer.lift.kind != "none")
    heads = mixer.heads
    title = f"{mixer.readout.kind}, {' + '.join(moving) or 'A = I'}"
    sizes = f"{heads.num_heads} heads of {heads.state_dim} x {heads.head_dim}, eta {mixer.normalization.kind}"
    return Box("mixer", title, sizes, path)
