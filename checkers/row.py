"""The row whose energy is judged: the query that sees most keys, and its keys by distance. Source: theory, P6.1.

The score of a key at lag l is normal given gate and query length, with the moments that evolution, gate and lift leave
of it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from checkers import directions, erased_growth, initial_decay, scores, starts
from checkers.averages import LARGEST_EXPONENT
from checkers.directions import Directed
from checkers.erased_growth import Fading, HeavyBall
from checkers.initial_decay import UNIT, HeadStart, Slot
from checkers.projections import entry_powers, tame
from checkers.quadrature import SPARSE, Moments, Nodes, expectation, moments
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.recent import recent

EXACT_LAGS = 8  # lags that are summed one by one; later ones in cells
CELL = 1.4  # ratio of the ends of a cell of lags
NARROW = 0.002  # variance of a logarithm that does not matter
MANY_ANGLES = 16
FEW_CHANNELS = 8  # of a cosine that is not nearly normal
ONE = Moments(1.0, 1.0)
PAIR: Nodes = ((-1.0, 0.5), (1.0, 0.5))  # Gauss-Hermite
THREE: Nodes = ((-math.sqrt(3.0), 1.0 / 6.0), (0.0, 2.0 / 3.0), (math.sqrt(3.0), 1.0 / 6.0))
SEVEN: Nodes = tuple((x, weight) for x, weight in SPARSE if abs(x) <= 3.0)
LOG_SIGMOID = moments(lambda x: -starts.softplus(-x))  # what an input shear adds per step
RELATIVE = LOG_SIGMOID.square / LOG_SIGMOID.mean**2 - 1.0  # variance of one step


@dataclass(frozen=True, slots=True)
class Score:
    """q . k of random tokens before gate and base: its mean, and its variance by what makes it vary.

    Attributes:
        from_query: variance of the mean over the keys, which a row has in common.
        rest: variance from key to key.
        scatter: variance of |q|^2 over the square of its mean: how much the spread of a row varies.
        frozen: nothing varies from key to key.
        angles: channels of two directions whose cosine the score is, where these are few; 0 for a normal score.
    """

    mean: float
    from_query: float
    rest: float
    scatter: float
    channels: int
    frozen: bool
    angles: int = 0

    @property
    def variance(self) -> float:
        """Var q . k."""
        return self.from_query + self.rest


@dataclass(frozen=True, slots=True)
class Head:
    """A head: its channels, the gate of a present key and of one that a lift has completed, what a step adds to z."""

    start: HeadStart
    present: Moments
    later: Moments
    slope: float = 0.0


@dataclass(frozen=True, slots=True)
class Lag:
    """Keys at (about) one distance: how many, the parts of q . k there, their gate, and what a shear has added.

    `biases` are (value, weight) of the latter.
    """

    count: float
    mean: float
    from_query: float
    rest: float
    gate: Moments
    biases: Nodes


@dataclass(frozen=True)
class Row:
    """The query of a sequence that sees most keys, and what all heads have in common.

    Attributes:
        visible: keys that it reads.
        last: its place, from 1.
        value_mean: mean of a value over its rms.
    """

    mixer: MixerSpec
    score: Score
    seq_len: int
    visible: int
    last: int
    value_mean: float
    key_scale: Moments
    turns: dict[int, float] = field(default_factory=dict)

    def turn(self, steps: int) -> float:
        """Mean cosine of what `steps` rotations turn a key by, over the channels."""
        if self.mixer.rotation.is_identity or not steps:
            return 1.0
        if steps not in self.turns:
            self.turns[steps] = _turn(self.mixer, steps)
        return self.turns[steps]


@recent
def row(mixer: MixerSpec, seq_len: int) -> Row | None:
    """The row that is judged; None where the spread of its scores is not derived."""
    score = _score(mixer)
    if score is None:
        return None
    support, sizes = mixer.support, [seq_len]
    if support.window is not None:
        sizes.append(support.window if support.mask != "none" else 2 * support.window - 1)
    if support.chunk is not None:
        sizes.append(support.chunk)
    visible = min(sizes) - (support.mask == "strict")
    chunked = support.chunk is not None and support.chunk <= seq_len
    last = seq_len // (support.chunk or 1) * (support.chunk or 1) if chunked else seq_len
    return Row(mixer, score, seq_len, visible, last, value_mean(mixer), _key_scale(mixer))


@recent
def _score(mixer: MixerSpec) -> Score | None:
    total, query, key = scores.product_spread(mixer), directions.query(mixer), directions.key(mixer)
    if total is None:
        return None
    variance = max(total.square - total.mean**2, 0.0)
    if query is None or key is None:
        return Score(total.mean, 0.0, variance, 0.0, mixer.key_dim, frozen=False)
    shared = query.width * query.variance * key.mean**2
    every = shared + query.width * query.square * key.variance
    share = shared / every if every > 0.0 else 0.0
    return Score(
        total.mean,
        variance * share,
        variance * (1.0 - share),
        query.scatter,
        query.width,
        frozen=key.frozen,
        angles=_angles_between(mixer, query, key) if total.mean == 0.0 and shared == 0.0 else 0,
    )


def _angles_between(mixer: MixerSpec, query: Directed, key: Directed) -> int:
    """Channels of queries and keys of a fixed length, where they are few and turn freely."""
    features = mixer.features
    free = features.map in ("identity", "scaled_static") and mixer.lift.kind != "shift"
    fixed = query.scatter == 0.0 and key.scatter == 0.0 and features.norm_over == "head" and features.norm_on == "qk"
    if not free or not fixed or mixer.decay.granularity == "diagonal" or mixer.rotation.attention_factor != 1.0:
        return 0
    width = 1 if key.on_line else query.width - (features.norm == "layernorm")
    return width if 0 < width <= FEW_CHANNELS else 0


def _key_scale(mixer: MixerSpec) -> Moments:
    """What the moments of the key already hold of the key factors of the slots: their average."""
    if mixer.features.map != "one_minus_decay" and mixer.scaling.gate != "step_power":
        return ONE
    slots = [slot.key for head in initial_decay.compiled_heads(mixer) for slot in head.slots]
    mean, square = sum(one.mean for one in slots), sum(one.square for one in slots)
    return Moments(mean / len(slots), square / len(slots)) if mean > 0.0 else ONE


def value_mean(mixer: MixerSpec) -> float:
    """Mean of a value over its rms: not zero only behind an activation that is not odd."""
    if mixer.io.value_activation != "silu":
        return 0.0
    std = tame(mixer.features.k_std) if mixer.heads.latent_dim is not None else 1.0  # made like the keys
    value = entry_powers("silu", std, 1)
    found = Moments(value.mean, value.square)
    if mixer.io.value_gate == "sigmoid":
        found = found.times_independent(starts.UNBIASED.moments)
    return found.mean / found.rms


def lags(row: Row, head: Head) -> Iterable[Lag]:
    mixer = row.mixer
    ramps = mixer.scaling.gate == "index" or _ramp(mixer) > 1
    moves = not mixer.evolution_is_identity or mixer.lift.kind == "delay1"
    sides = 1
    if not ramps and (not moves or _only_fades(row)):  # the mean over the lags is exact
        cells = [(0, 1), (1, row.visible - 1)] if moves and row.visible > 1 else [(0, row.visible)]
    elif mixer.support.mask == "none" and not ramps:  # as far to the left as to the right
        cells, sides = _cells(row.visible // 2 + 1), 2
    else:
        cells = _cells(row.visible, ends=ramps, exact=max(EXACT_LAGS, mixer.lift.width or 0))
    first = 1 if mixer.support.mask == "strict" else 0
    fading = _fading(row, head)
    slots = UNIT.slots if fading is not None and _fades_together(mixer) else head.start.slots
    if row.key_scale == ONE and slots == UNIT.slots:
        slots = ()  # every factor is 1
    return (_lag(row, head, (slots, fading), (lag + first, count, sides if lag else 1)) for lag, count in cells)


def _fading(row: Row, head: Head) -> Fading | HeavyBall | None:
    """What the erases leave of a key inside a nonlinear phi; of an additive one together with the decay."""
    mixer, query, key = row.mixer, directions.query(row.mixer), directions.key(row.mixer)
    if mixer.erase.is_identity or query is None or key is None:
        return None
    slots = head.start.slots if _fades_together(mixer) else UNIT.slots
    mean, square = (sum(slot.factor[at] for slot in slots) / len(slots) for at in (0, 1))
    make = erased_growth.heavy_ball if mixer.lift.kind == "momentum" else erased_growth.fading
    return make(mixer, query, key, Moments(mean, square))


def expands(row: Row, head: Head) -> bool:
    """One erase raises the mean square of a key."""
    found = _fading(row, head)
    return found is not None and found.after(1)[0] > 1.0


def _fades_together(mixer: MixerSpec) -> bool:
    """Decay and erase are one recursion: a sum of the two, or a momentum over both."""
    return mixer.erase.compose == "additive" or mixer.lift.kind == "momentum"


def _only_fades(row: Row) -> bool:
    """A linear phi of scores without a mean: their variance alone counts, which a decay takes in geometric steps."""
    mixer, score = row.mixer, row.score
    signed = score.mean == 0.0 and (score.from_query == 0.0 or row.value_mean == 0.0)
    steady = mixer.erase.is_identity and mixer.lift.kind in ("none", "delay1", "fenwick")
    return signed and steady and not score.frozen and readouts.is_linear(mixer.readout)


def _cells(count: int, *, ends: bool = False, exact: int = EXACT_LAGS) -> list[tuple[int, int]]:
    """(first lag, number of lags) of cells that grow with the distance; with `ends` also towards the first keys."""
    edges, width = list(range(min(count, exact) + 1)), float(exact)
    while edges[-1] < count:
        width *= CELL
        edges.append(min(max(int(width), edges[-1] + 1), count))
    if ends:
        edges = sorted(set(edges) | {count - edge for edge in edges})
    return [(low, high - low) for low, high in pairwise(edges)]


def _ramp(mixer: MixerSpec) -> int:
    """Tokens until the short convolution of the keys is full, where the scale of the key follows it."""
    conv = mixer.io.short_conv
    return conv.width if "k" in conv.on and mixer.features.norm == "none" else 0


def _lag(
    row: Row, head: Head, keeps: tuple[tuple[Slot, ...], Fading | HeavyBall | None], cell: tuple[int, int, int]
) -> Lag:
    """The keys of a cell: its first lag, the number of lags, and on how many sides of the query."""
    mixer, score, (slots, fading), (start, count, sides) = row.mixer, row.score, keeps, cell
    lag, fewer = start + (count - 1) // 2, 1 if mixer.support.read == "before" and start > 0 else 0
    steps, varies = lag - fewer, score.variance
    square, first, common = _shares(row, slots, start - fewer, count)
    turn = row.turn(steps) if score.mean or score.from_query else 1.0
    mean, variance = score.mean * first * turn, varies * square
    if score.mean:
        variance += score.mean**2 * _spread_of_mean(row, square, common, turn)
    from_query = varies * square if score.frozen else score.from_query * common * turn * turn
    if mixer.lift.kind == "shift":  # each lag has taps of its own
        variance, mean, from_query = (varies if lag < (mixer.lift.width or 1) else 0.0), 0.0, 0.0
    if fading is not None:
        kept, kept_mean = fading.after(steps)
        mean, from_query, variance = mean * kept_mean, from_query * kept_mean * kept_mean, variance * kept
    gate, scale = head.present if lag == 0 else head.later, _scale(mixer, max(row.last - lag, 1))
    return Lag(
        float(count * sides * mixer.erase.rank),
        mean,
        from_query,
        max(variance - from_query, 0.0),
        gate if scale == 1.0 else gate.times(scale),
        _biases(mixer, head.slope, steps),
    )


def _scale(mixer: MixerSpec, position: int) -> float:
    """What the place of a key, from 1, does to it: a gate by index, a short convolution that is not full yet."""
    scale, ramp = 1.0, _ramp(mixer)
    if mixer.scaling.gate == "index":  # the first keys weigh most, so that those of their values count
        scale, conv = 1.0 / position, mixer.io.short_conv
        if "v" in conv.on and position < conv.width:
            scale *= math.sqrt(position / conv.width)
    return scale * math.sqrt(position / ramp) if position < ramp else scale


def _biases(mixer: MixerSpec, slope: float, steps: int) -> Nodes:
    """What `steps` increments of a shear add: those from a token are log sigmoids, whose sum never changes its sign."""
    total = slope * steps
    if mixer.shear.source != "input" or not steps:
        return ((total, 1.0),)
    return tuple((total * factor, weight) for factor, weight in lognormal(0.0, math.log1p(RELATIVE / steps)))


def _spread_of_mean(row: Row, square: float, common: float, turn: float) -> float:
    """Variance of what evolution leaves of a mean, relative to its square: of a factor that all channels share in full,
    of factors (and angles) that differ from channel to channel what their average leaves.
    """
    mixer, width = row.mixer, row.score.channels
    own = max(square - common, 0.0) * turn * turn
    turns = 0.5 * (1.0 - turn * turn) * square / width if mixer.rotation.source == "input" else 0.0
    if mixer.decay.granularity != "diagonal":
        return own + turns
    still = mixer.rotation.is_identity
    return max((square if still else 0.5 * (1.0 + turn * turn) * square) - common * turn * turn, 0.0) / width


def _shares(row: Row, slots: tuple[Slot, ...], steps: int, count: int) -> tuple[float, float, float]:
    """Over the channels and `count` lags: E (k prod a)^2, E k prod a, and the mean square of the latter, relative to a
    key at lag 0; without `slots` nothing changes.
    """
    if not slots:
        return 1.0, 1.0, 1.0
    square = first = common = 0.0
    for slot in slots:
        key = slot.key.mean / row.key_scale.mean
        square += slot.key.square / row.key_scale.square * _powers(slot.factor.square, steps, count)
        first += key * _powers(slot.factor.mean, steps, count)
        common += key * key * _powers(slot.factor.mean**2, steps, count)
    return square / len(slots), first / len(slots), common / len(slots)


def _powers(factor: float, steps: int, count: int) -> float:
    """The mean of factor^s over `count` numbers s from `steps` on."""
    first = _power(factor, steps)
    if count == 1 or factor == 1.0 or first == 0.0:
        return first
    return first * min((1.0 - _power(factor, count)) / (1.0 - factor) / count, math.exp(LARGEST_EXPONENT))


def _power(factor: float, steps: int) -> float:
    if factor == 1.0 or not steps:
        return 1.0
    return math.exp(min(steps * math.log(factor), LARGEST_EXPONENT)) if factor > 0.0 else 0.0


def _turn(mixer: MixerSpec, steps: int) -> float:
    """Mean cosine over the channels: those that do not rotate keep theirs."""
    rotation, width = mixer.rotation, mixer.key_dim
    pairs = rotation.pairs(width)
    share = min(2.0 * pairs / width, 1.0)
    if rotation.source == "input":
        speed = scores.gate_moments(mixer).mean if mixer.scaling.gate == "dt" else 1.0
        cosine = _power(max(_mean_cosine(speed), 0.0), steps)
    else:
        angles = _angles(mixer, pairs)
        cosine = sum(math.cos(angle * steps) for angle in angles) / len(angles)
    return 1.0 - share + share * cosine


def _angles(mixer: MixerSpec, pairs: int) -> list[float]:
    """Constant angles, or where learned ones start."""
    rotation = mixer.rotation
    if rotation.source == "constant":
        return list(rotation.angles(mixer.key_dim))
    few = [(pair + 0.5) / min(pairs, MANY_ANGLES) for pair in range(min(pairs, MANY_ANGLES))]
    if rotation.initial is None:
        return [rotation.theta**-spot for spot in few]
    low, high = rotation.initial
    return [low + (high - low) * spot if low == 0 else low * (high / low) ** spot for spot in few]


@lru_cache(64)
def _mean_cosine(speed: float) -> float:
    return expectation(lambda x: math.cos(math.pi * math.tanh(x) * speed))


@lru_cache(64)
def lognormal(of_length: float, of_gate: float = 0.0) -> Nodes:
    """(value, weight) of a few positive numbers: a length whose square has mean 1, times a gate of mean 1.

    Both are lognormal with these variances of their logarithms.
    """
    logs = of_length + of_gate
    if logs < NARROW:
        return ((1.0, 1.0),)
    root, shift = math.sqrt(logs), of_length + 0.5 * of_gate
    nodes = PAIR if logs < 0.1 else THREE if logs < 0.3 else SEVEN  # powers of a wide one live in its tail
    return tuple((math.exp(root * x - shift), weight) for x, weight in nodes)
