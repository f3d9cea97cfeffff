"""The decays of heads and channels at initialisation, one by one: moments over the tokens of each factor.

Products of factors keep (E a)^lag of a mean and (E a^2)^lag of an energy, head by head and channel by channel, so the
average over the grid (`checkers.starts`) would not do: the slowest channel outlasts the others.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from checkers import starts
from checkers.projections import key_vector
from checkers.quadrature import COARSE, Moments, constant, weighted_moments
from checkers.starts import Draw
from designspace.decay import Decay, between, schedule
from designspace.mixer import MixerSpec
from designspace.recent import recent
from designspace.scaling import DT_INITIAL
from designspace.spec import Range
from designspace.streams import decay_slots, shares_step, stream_counts

MOST = 8  # heads of a constant decay, and rates of a shared step, that are looked at
SCALAR_RATES = (1.0, 16.0)  # arXiv 2405.21060
ONE = Moments(1.0, 1.0)
NONE = Moments(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Slot:
    """A channel (or a head) of the grid: moments of its factor, of 1 - a, of sqrt(1 - a^2), and of the key factor.

    `key`: what the decay multiplies the written key by (`one_minus_decay`, `step_power`); 1 elsewhere.
    """

    factor: Moments
    complement: Moments
    root: Moments
    key: Moments = ONE


@dataclass(frozen=True, slots=True)
class HeadStart:
    """The channels of a head, and the step size it shares with its decay (`gate: dt`)."""

    slots: tuple[Slot, ...]
    step: Moments | None = None


UNIT = HeadStart((Slot(ONE, NONE, NONE),))


def fixed(mixer: MixerSpec, factor: float) -> Slot:
    """A channel whose factor never changes."""
    return _slot(mixer, [Draw(1.0, factor)])


def start_range(decay: Decay) -> Range | None:
    """Where a_t starts: declared, or all that the declared range leaves; None where nobody says."""
    if decay.initial_range is None and decay.range[0] == decay.range[1]:
        return decay.range
    return decay.initial_range


def heads(mixer: MixerSpec) -> tuple[HeadStart, ...]:
    """The heads of the initial grid; none where the decay declares no start."""
    return compiled_heads(mixer) if mixer.decay.granularity == "none" or start_range(mixer.decay) is not None else ()


@recent
def compiled_heads(mixer: MixerSpec) -> tuple[HeadStart, ...]:
    """The heads as the compiled mixer starts them: without a declared start at bias 0, or with the rates of Mamba."""
    decay = mixer.decay
    if decay.granularity == "none":
        return (UNIT,)
    if decay.source == "constant":
        return tuple(HeadStart((fixed(mixer, factor),)) for factor in schedule(decay, min(mixer.heads.num_heads, MOST)))
    streams, slots = stream_counts(mixer).value, decay_slots(mixer)
    if decay.map == "one_minus_bk2":
        return tuple(HeadStart((_longhorn(mixer, one),)) for one in _longhorn_targets(decay, streams))
    if shares_step(mixer):
        return tuple(_shared_steps(mixer, streams, slots))
    found = tuple(_grid(mixer, streams * slots))
    return (HeadStart(found),) if slots > 1 else tuple(HeadStart((one,)) for one in found)


def _grid(mixer: MixerSpec, points: int) -> Iterator[Slot]:
    decay = mixer.decay
    if decay.range[0] == decay.range[1]:
        yield fixed(mixer, decay.range[0])
        return
    gated = decay.map == "complement" and decay.reads_input and decay.initial is None  # a = 1 - b starts where b does
    for start, noise in starts.gate_starts(mixer.scaling, points) if gated else starts.decay_starts(decay, points):
        yield _slot(mixer, starts.draws(mixer, start, noise))


def _slot(mixer: MixerSpec, draws: list[Draw]) -> Slot:
    complement = weighted_moments((one.weight, starts.complement(one.factor)) for one in draws)
    step = weighted_moments((one.weight, one.step) for one in draws)
    return Slot(
        weighted_moments((one.weight, one.factor) for one in draws),
        complement,
        weighted_moments((one.weight, starts.sqrt_complement(one.factor)) for one in draws),
        complement if mixer.features.map == "one_minus_decay" else step,
    )


def _longhorn_targets(decay: Decay, streams: int) -> list[float | None]:
    if decay.initial is None:
        return [None]
    return [between(decay.initial, position) for position in starts.grid(min(streams, MOST))]


def _longhorn(mixer: MixerSpec, target: float | None) -> Slot:
    """1 - b k^2 with b = g / (1 + g |k|^2), as far as g < 1 allows; g = 1/2 where no target is declared.

    `complement` is the write b itself.
    """
    key = key_vector(mixer)
    square = 1.0 if key is None else max(key.square, 1e-300)
    most = 1.0 / (1.0 + square * mixer.key_dim)
    write = 0.5 / (1.0 + 0.5 * square * mixer.key_dim) if target is None else min((1.0 - target) / square, most)
    low, high = mixer.decay.range
    removed = (high - low) * max(write, 0.0) * square
    mean = high - removed
    factor = Moments(mean, mean**2 + 2.0 * removed**2)  # k normal: E k^4 = 3 (E k^2)^2
    return Slot(factor, constant(write), NONE)


def _shared_steps(mixer: MixerSpec, streams: int, slots: int) -> Iterator[HeadStart]:
    """a = exp(-A dt) with the dt of the gate: dt log-uniform over the heads, A evenly over the channels (Mamba)."""
    decay, gates = mixer.decay, starts.gate_starts(mixer.scaling, streams, most=MOST)
    for index, (start, noise) in enumerate(gates):
        steps = [(weight, starts.softplus(start + noise * x)) for x, weight in COARSE]
        rates = rates_of(mixer, starts.softplus(start), slots, (index, len(gates)))
        channels = tuple(
            _slot(mixer, [Draw(w, max(decay.range[0], decay.range[1] * math.exp(-rate * step))) for w, step in steps])
            for rate in rates
        )
        yield HeadStart(channels, weighted_moments(steps))


def rates_of(mixer: MixerSpec, size: float, slots: int, head: tuple[int, int]) -> list[float]:
    """Rates A of the channels of a head (its index, and the number of heads) whose step size starts at `size`.

    A range of a starts at the largest A dt and ends at the smallest.
    """
    decay = mixer.decay
    if start_range(decay) is None:
        return _default_rates(slots, head)
    sizes = [max(one, starts.INSIDE) for one in mixer.scaling.initial or DT_INITIAL]
    top = max(decay.range[1], starts.INSIDE)
    start = start_range(decay) or decay.range
    fast, slow = (starts.inside(a / top) for a in start)
    first, last = -math.log(slow) / sizes[0], -math.log(fast) / sizes[1]
    cells, (index, count) = min(slots, MOST), head
    if first > last * (1.0 + starts.INSIDE):  # a narrower range than the steps span: each head has the rates it needs
        spots = starts.grid(cells) if slots > 1 else ((index + 0.5) / count,)
        targets = [starts.inside(between(start, spot) / top) for spot in spots]
        return [-math.log(target) / size for target in targets]
    if slots > 1:
        return [first + (last - first) * cell / (cells - 1) for cell in range(cells)]
    return [first + (last - first) * (index / (count - 1) if count > 1 else 0.0)]


def _default_rates(slots: int, head: tuple[int, int]) -> list[float]:
    """Rates where no start is declared: 1..n over the channels (Mamba), or over the heads 1..16 (Mamba-2)."""
    if slots > 1:
        cells = min(slots, MOST)
        return [1.0 + (slots - 1.0) * (cell + 0.5) / cells for cell in range(cells)]
    (low, high), (index, count) = SCALAR_RATES, head
    return [low + (high - low) * (index / (count - 1) if count > 1 else 0.0)]
