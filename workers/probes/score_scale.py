"""How wide are the scores at initialisation, and how does that change with the width of the keys? (P5)"""

import math
import statistics
from collections.abc import Iterator

import torch

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.scaling import QUERY_SCHEDULE_FLOOR, QUERY_SCHEDULE_SLOPE
from workers import terms
from workers.probe import BATCH, MAX_HEAD_DIM, Probe, Subject, resized

LENGTH = 64  # tokens that are drawn
STATE_DIMS = (8, 16, 32, 64)  # of the slope of log std against log n
MAX_HEADS = 16  # gates start at a value of each head, so that few heads would not tell where all of them start
MAX_CHANNELS = 256  # of all keys together, where these heads have fewer
STREAMS = 32  # heads times sequences of a draw, at least: few of them would miss the tail of an exponential gate
DRAWN = 512  # scores of drawn vectors are one number for each head and draw: about as many of them
MAX_DRAWS = 128
MAX_SLOPE_DRAWS = 16


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = _without_evolution(subject)
    draws = subject.draws
    if subject.spec.features.map in ("static", "scaled_static"):
        draws = max(draws, min(DRAWN // spec.heads.num_heads, MAX_DRAWS))
    batch = max(BATCH, STREAMS // spec.heads.num_heads)
    found = [_score(subject, spec, draw, batch=batch) for draw in range(draws)]
    yield from subject.rms("score_std", [std for std, _ in found], length=subject.candidate.target.seq_len)
    yield from subject.mean("score_mean", [mean for _, mean in found], length=subject.candidate.target.seq_len)
    sizes = [(n, other) for n in STATE_DIMS if (other := resized(subject.scaled, state_dim=n)) is not None]
    few = min(subject.draws, MAX_SLOPE_DRAWS)
    curves = [[_score(subject, other, draw)[0] for draw in range(few)] for _, other in sizes]
    if len(sizes) > 1 and min(map(min, curves)) > 0:
        log_n = [math.log(n) for n, _ in sizes]
        by_draw = zip(*curves, strict=True)
        slopes = [statistics.linear_regression(log_n, list(map(math.log, draw))).slope for draw in by_draw]
        yield from subject.mean("slope", slopes, length=LENGTH)


def _without_evolution(subject: Subject) -> MixerSpec:
    """The mixer with narrow values and at most a few heads, which share streams in the same ratio.

    The norm goes before the rotation: at lag 0 nothing turns, and signals that are turned already would have a lag.
    """
    heads, spec = subject.spec.heads, subject.spec
    few = min(heads.num_heads, max(MAX_HEADS, MAX_CHANNELS // spec.key_dim))
    groups = heads.kv_groups if heads.kv_groups is None else max(1, heads.kv_groups * few // heads.num_heads)
    found = resized(spec, num_heads=few, kv_groups=groups, head_dim=min(heads.head_dim, MAX_HEAD_DIM)) or subject.scaled
    still = found.features.model_copy(update={"norm_order": "before_rotation"})
    return found.model_copy(update={"features": still})


def _score(subject: Subject, spec: MixerSpec, draw: int, *, batch: int = BATCH) -> tuple[float, float]:
    """Standard deviation of z_ij at lag 0 about the mean of its head, and that mean, over pairs of different tokens."""
    rank, warm = spec.erase.rank, max(spec.io.short_conv.width - 1, 0)  # the first tokens have fewer taps
    signals = subject.signals(spec, draw, warm + LENGTH, batch=batch)
    token = torch.arange(warm * rank, (warm + LENGTH) * rank) // rank
    query, key = signals.q[:, warm:], signals.k[:, warm * rank :] * terms.score_base(spec, signals)[:, None]
    gate = terms.gate(spec, signals)
    if spec.scaling.gate == "index":  # the place is `_position_factor`; a lift leaves a share of it
        gate = gate * torch.arange(1, warm + LENGTH + 1, dtype=gate.dtype).repeat_interleave(rank)[:, None]
    key = key * gate[:, warm * rank :, :, None]
    if signals.taps is not None:
        key = key * signals.taps[..., 0]
    if signals.rate is not None:
        key = key * signals.rate[:, warm:].repeat_interleave(rank, dim=1)[..., None]
    if signals.levels is not None:
        query = query * signals.levels[:, warm:, :, :1]
    score = torch.einsum("bthn,bshn->hbts", query, key)[..., torch.arange(warm, warm + LENGTH)[:, None] != token]
    mean = score.mean((1, 2), keepdim=True)
    first, second = _position_factor(spec, subject.candidate.target.seq_len)
    variance = second * (score - mean).square().mean((1, 2)) + (second - first**2) * mean.squeeze().square()
    return float(variance.mean().sqrt()), first * float(mean.mean())


def _position_factor(spec: MixerSpec, seq_len: int) -> tuple[float, float]:
    """Mean and mean square, over all positions of the target, of what no token changes: the gate 1 / j, the query
    schedule. Tokens say the same at each position, so few of them are enough.
    """
    position = torch.arange(1, seq_len + 1, dtype=torch.float64)
    key = position.reciprocal() if spec.scaling.gate == "index" else torch.ones_like(position)
    blocks = torch.div(position, QUERY_SCHEDULE_FLOOR, rounding_mode="floor")
    steps = QUERY_SCHEDULE_SLOPE * torch.log1p(blocks) if spec.scaling.query_schedule != "none" else 0.0 * blocks
    query = 1.0 + steps
    return float(key.mean() * query.mean()), float(key.square().mean() * query.square().mean())


probe = Probe(
    quantities={
        "score_std": "standard deviation of q_i . b_j k_j (lag 0: no evolution) over random tokens about its mean",
        "score_mean": "mean of q_i . b_j k_j over random tokens",
        "slope": "of log score_std against log n, keys of 8 to 64 channels",
    },
    mixer=_mixer,
)
