"""|alpha| of each mixer at a small length, from the float64 definition, for the pages that show pictures."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from checkers.picture import Box, Heatmap, mixer_box

if TYPE_CHECKING:
    from designspace.candidate import Candidate, Located
    from designspace.mixer import MixerSpec
    from workers.signals import Signals

LENGTH = 24  # tokens
SEED = 0
MOST = 6  # mixers of one candidate
WIDEST = 4096  # of a transition of one head: 128 MiB in float64
PARAMETERS = frozenset({"table", "base", "taps", "bonus", "skip", "sink"})  # signals whose first axis is the heads

Grid = tuple[tuple[float, ...], ...]


def heatmaps(candidate: "Candidate") -> tuple[Heatmap, ...]:
    """The first and the last head of the distinct mixers of the candidate, equal ones once.

    Of mixers that differ in numbers alone (a decay that slows with the depth) the first and the last are drawn.
    """
    places: dict[MixerSpec, list[Located]] = {}
    for located in candidate.mixers():
        places.setdefault(located.mixer, []).append(located)
    chosen = _chosen(list(places))
    drawn = [_of_mixer(mixer, places[mixer], candidate) for mixer in chosen]
    more = len(places) - len(chosen)
    rest = [Heatmap(f"and {more:,} more mixers that look alike or are further down", ())] if more else []
    outside = [Heatmap(path, (), f"Outside the grammar: {one.reason}") for path, one in candidate.outside()]
    return (*(one for maps in drawn for one in maps), *rest, *outside[:MOST])


def _chosen(mixers: "list[MixerSpec]") -> "list[MixerSpec]":
    """The first and the last mixer of each look, at most `MOST`, in the order of the stack."""
    looks: dict[Box, list[int]] = {}
    for index, mixer in enumerate(mixers):
        looks.setdefault(mixer_box(mixer), []).append(index)
    ends = [found[0] for found in looks.values()] + [found[-1] for found in looks.values()]
    return [mixers[index] for index in sorted(list(dict.fromkeys(ends))[:MOST])]


def _of_mixer(mixer: "MixerSpec", places: "list[Located]", candidate: "Candidate") -> list[Heatmap]:
    title = places[0].path + (f" and {len(places) - 1} more" if len(places) > 1 else "")
    count, width = mixer.heads.num_heads, mixer.heads.state_dim
    if width > WIDEST:
        return [Heatmap(title, (), f"Not drawn: the transition of a head is {width:,} wide.")]
    heads = sorted({0, count - 1})
    note = f"{LENGTH} random tokens at initialisation, seed {SEED}."
    found = magnitudes(mixer, heads, seq_len=LENGTH, target_len=candidate.target.seq_len)
    return [
        Heatmap(f"{title}, head {head + 1} of {count}", alpha, note) for head, alpha in zip(heads, found, strict=True)
    ]


def magnitudes(mixer: "MixerSpec", heads: list[int], *, seq_len: int, target_len: int) -> list[Grid]:
    """|alpha_ij| of the heads asked for, a row per output position i."""
    import torch  # two seconds to import, and only pages with pictures need it

    from workers.coefficients import coefficients
    from workers.realise import random_signals

    with torch.inference_mode():
        signals = _of_heads(random_signals(mixer, seed=SEED, batch=1, seq_len=seq_len), heads)
        found = coefficients(mixer, signals, target_len=target_len)[0].abs()
    return [tuple(map(tuple, head)) for head in found.tolist()]


def _of_heads(signals: "Signals", heads: list[int]) -> "Signals":
    """The signals of some heads: heads do not read each other, and a definition in float64 is slow."""
    import torch

    values = {field.name: getattr(signals, field.name) for field in fields(signals)}
    index = torch.tensor(heads)
    chosen = {
        name: value.index_select(0 if name in PARAMETERS else 2, index)
        for name, value in values.items()
        if value is not None
    }
    return replace(signals, **chosen)
