"""Second moments of a state that erases: what a delta rule keeps of random keys, and of what they have in common.

A step is (I - beta u w^T) R diag(a) (product form) or R diag(a) - beta u w^T (additive). Tokens are independent, so the
second moment of the state column s (one value channel) follows a linear recursion. It is held as two numbers, the
energy along the common direction m of the keys and the energy across it, which is taken as isotropic:

    E (m . s)^2,  E |s - m (m . s)|^2,  E m . s (not zero where values have a mean).

Momentum doubles the state: M <- mu M + eta k (p . S - v), S <- a S - beta M. Source: arXiv 2102.11174, 2406.06484.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from checkers.directions import Directed
from checkers.quadrature import Moments
from checkers.starts import UNBIASED, erase_gain
from designspace.mixer import MixerSpec

LARGEST = 1e150  # of an energy; its square is still a finite float
GONE = 1e-9  # of an entry of a power: the sum has reached what it tends to
NOTHING = Moments(0.0, 0.0)
MOST_KEPT = 1e60  # of an energy share; products of it with any score are finite
LOG_MOST = math.log(MOST_KEPT)
CLOSE = 1e-7  # of eigenvalues, relative, that count as one
Column = list[float]
Matrix = list[list[float]]
Step = Callable[[Column], Column]


@dataclass(frozen=True, slots=True)
class Written:
    """How a token writes: the gate of the present key and of a key that a lift has completed, and the values."""

    present: Moments
    later: Moments
    value_mean: float


@dataclass(frozen=True, slots=True)
class Evolution:
    """One step of the evolution but for the erase: moments of the factors of a few channels (of all, where there is one
    factor), and the mean cosine of what turns.
    """

    factors: tuple[Moments, ...]
    turn: float

    @property
    def together(self) -> Moments:
        """The average over the channels."""
        count = len(self.factors)
        return Moments(sum(one.mean for one in self.factors) / count, sum(one.square for one in self.factors) / count)


@dataclass(frozen=True, slots=True)
class Direction:
    """E c^d and mixed moments of the erase direction u: c along the common direction, r across it."""

    second: float
    fourth: float
    across: float
    across_fourth: float
    mixed: float


def _direction(mixer: MixerSpec, key: Directed) -> Direction:
    if mixer.erase.direction == "free":
        width = mixer.key_dim
        fourth = 3.0 / (width * (width + 2.0))
        share = 1.0 / width
        return Direction(share, fourth, 1.0 - share, 1.0 - 2.0 * share + fourth, share - fourth)
    _, second, _, fourth = key.along()
    across, across_fourth, _, mixed = key.across()
    return Direction(second, fourth, across, across_fourth, mixed)


def energy(
    mixer: MixerSpec, query: Directed, key: Directed, written: Written, step: Evolution, tokens: int, unseen: int
) -> float:
    """E (q . s)^2 of the sum over `tokens` visible keys with values of rms 1.

    Args:
        unseen: tokens before the first visible one.
    """
    support, momentum = mixer.support, mixer.lift.kind == "momentum"
    make = _momentum_token if momentum else _token
    channels = 1 if momentum else len(step.factors)
    state = [0.0] * (8 if momentum else (3 if written.value_mean else 2) * channels) + [1.0]
    before = tokens if support.mask == "strict" else tokens - 1
    own = written.present
    if mixer.scaling.gate == "index":
        own = own.times(1.0 / max(tokens + unseen, 1))
        state = _over_positions(mixer, key, written, step, state, before, unseen)
    else:
        state = repeated(make(mixer, key, written.later, written.value_mean, step), state, before)
    state = [min(max(value, -LARGEST), LARGEST) for value in state]
    if support.read == "before":
        state = _plain_write(key, own, written.value_mean, state, count=channels)
    else:
        last = NOTHING if support.mask == "strict" else own
        state = make(mixer, key, last, written.value_mean, step)(state)
    along = query.width * query.mean**2 + query.variance
    return (along * sum(state[:channels]) + query.variance * sum(state[channels : 2 * channels])) / channels


@dataclass(frozen=True, slots=True)
class Fading:
    """What erases leave of a key, step by step: a matrix on (energy along, energy across), and a factor of its mean."""

    matrix: tuple[float, float, float, float]
    mean: float
    start: tuple[float, float]
    read: tuple[float, float]

    def after(self, steps: int) -> tuple[float, float]:
        """Shares of E (q . k)^2 and of the mean of q . k that are left: the power of a matrix by its eigenvalues."""
        (a, b, c, d), (along, across) = self.matrix, self.start
        middle, root = 0.5 * (a + d), math.sqrt(max(0.25 * (a - d) ** 2 + b * c, 0.0))
        high, low = middle + root, middle - root
        if root > CLOSE * abs(middle):
            first, second = power(high, steps), power(low, steps)
            slope, offset = (first - second) / (high - low), (high * second - low * first) / (high - low)
        else:
            slope, offset = steps * power(middle, steps - 1), (1 - steps) * power(middle, steps)
        left = (
            slope * (a * along + b * across) + offset * along,
            slope * (c * along + d * across) + offset * across,
        )
        total = self.read[0] * along + self.read[1] * across
        share = (self.read[0] * left[0] + self.read[1] * left[1]) / total if total else 1.0
        return min(max(share, 0.0), MOST_KEPT), power(self.mean, steps)


def fading(mixer: MixerSpec, query: Directed, key: Directed, factor: Moments) -> Fading:
    """What the erases of a mixer leave of a key, with the same decay in each step."""
    token = _token(mixer, key, NOTHING, 0.0, Evolution((factor,), 1.0))
    along, across = token([1.0, 0.0, 0.0]), token([0.0, 1.0, 0.0])
    taken = _erasure(mixer, key, NOTHING).takes_mean
    mean = factor.mean - taken if mixer.erase.compose == "additive" else factor.mean * (1.0 - taken) ** mixer.erase.rank
    return Fading(
        (along[0], across[0], along[1], across[1]),
        mean,
        (key.along()[1], key.across()[0]),
        (query.width * query.mean**2 + query.variance, query.variance),
    )


@dataclass(slots=True)
class HeavyBall:
    """What a momentum makes of one write, step by step: its state moves on to the later steps it is asked for."""

    step: Step
    state: Column
    read: tuple[float, float]
    written: tuple[float, float]
    steps: int = 0
    squares: list[Matrix] = field(default_factory=list)

    def after(self, steps: int) -> tuple[float, float]:
        """E (q . s)^2 and E q . s after `steps` steps, relative to those of q . k."""
        if steps > self.steps:
            self.state = [
                min(max(value, -MOST_KEPT), MOST_KEPT)
                for value in repeated(self.step, self.state, steps - self.steps, self.squares)
            ]
            self.steps = steps
        total, mean = self.written
        energy_left = self.read[0] * self.state[0] + self.read[1] * self.state[1]
        return max(energy_left, 0.0) / total if total else 0.0, self.state[6] / mean if mean else 0.0


def heavy_ball(mixer: MixerSpec, query: Directed, key: Directed, factor: Moments) -> HeavyBall:
    """A write of the block [S; M], which is [beta eta k; -eta k], and the steps that follow."""
    beta, rate = erase_gain(mixer.erase.gain).moments, UNBIASED.moments
    first, second, _, _ = key.along()
    across, along = key.across()[0], query.width * query.mean**2 + query.variance
    parts = [size * rate.square * share for share in (beta.square, -beta.mean, 1.0) for size in (second, across)]
    return HeavyBall(
        _momentum_token(mixer, key, NOTHING, 0.0, Evolution((factor,), 1.0)),
        [*parts, beta.mean * rate.mean * first, -rate.mean * first, 1.0],
        (along, query.variance),
        (along * second + query.variance * across, first),
    )


def power(factor: float, steps: int) -> float:
    """factor^steps, within +-`MOST_KEPT`."""
    if factor == 1.0 or not steps:
        return 1.0
    if factor == 0.0:
        return 0.0
    size = math.exp(min(steps * math.log(abs(factor)), LOG_MOST))
    return -size if factor < 0.0 and steps % 2 else size


def _over_positions(
    mixer: MixerSpec, key: Directed, written: Written, step: Evolution, state: Column, tokens: int, unseen: int
) -> Column:
    """Token j writes with 1 / j: blocks of doubling length, each with its mean gate."""
    first = 1
    while first <= tokens:
        size = min(max(first // 4, 1), tokens - first + 1)
        gate = written.later.times(1.0 / math.sqrt((unseen + first) * (unseen + first + size - 1.0)))
        state = repeated(_token(mixer, key, gate, written.value_mean, step), state, size)
        first += size
    return state


def _plain_write(key: Directed, gate: Moments, value_mean: float, state: Column, *, count: int) -> Column:
    """A write without a step before it."""
    along, second, _, _ = key.along()
    across, written, average = gate.square * key.across()[0], value_mean * gate.mean * along, state[2 * count : -1]
    pull = 2.0 * written * sum(average) / count
    return [
        *(one + pull + gate.square * second for one in state[:count]),
        *(one + across for one in state[count : 2 * count]),
        *(one + written for one in average),
        1.0,
    ]


@dataclass(frozen=True, slots=True)
class _Erasure:
    """What one micro-step takes and moves: the shares of the energies that the term linear in beta takes, those that
    the square moves between the common direction and the rest, and what it takes of a write with a mean.
    """

    takes_along: float
    takes_across: float
    along_to_along: float
    along_to_across: float
    across_to_along: float
    across_to_across: float
    takes_mean: float
    lost_along: float
    lost_across: float


def _erasure(mixer: MixerSpec, key: Directed, gate: Moments) -> _Erasure:
    erase, width = mixer.erase, max((key.rank or mixer.key_dim) - 1, 1)
    one, share = _direction(mixer, key), 0.5 if erase.direction == "key_scaled" else 1.0
    beta = erase_gain(erase.gain).moments
    first, square = share * beta.mean, share**2 * beta.square
    common = share**2 * (beta.mean**2 + (beta.square - beta.mean**2) / mixer.key_dim) if erase.per_channel else square
    to_across, to_along = (square, common) if erase.compose == "additive" else (common, square)
    from_across, from_along = (common, common) if erase.compose == "additive" else (square, common)
    along, _, third, _ = key.along()
    skew = key.across()[2]
    tied = mixer.scaling.gate == "tied_to_erase" and gate.square > 0.0
    product = share * beta.square if tied else first * gate.mean
    free = erase.direction == "free"
    return _Erasure(
        takes_along=2.0 * first * one.second,
        takes_across=2.0 * first * one.across / width,
        along_to_along=from_along * one.fourth,
        along_to_across=to_across * one.mixed,
        across_to_along=to_along * one.mixed / width,
        across_to_across=max(from_across, to_across) * one.across_fourth / width,
        takes_mean=first * one.second,
        lost_along=first * gate.mean * one.second * along if free else product * third,
        lost_across=0.0 if free else product * skew,
    )


def _token(mixer: MixerSpec, key: Directed, gate: Moments, value_mean: float, step: Evolution) -> Step:
    """The map of [along of each channel, across of each, 1] over one token of `rank` micro-steps; where values have a
    mean, the mean of each channel stands before the 1.

    What holds for a channel is written as if all were like it. The square of an erase spreads what it took of all
    channels, so that slow ones fade with the others.
    """
    erased, count = _erasure(mixer, key, gate), len(step.factors)
    additive, turn2 = mixer.erase.compose == "additive", step.turn**2
    width = max((key.rank or mixer.key_dim) - 1, 1)
    along, second, _, _ = key.along()
    across, written = key.across()[0], value_mean * gate.mean * along
    squares, means = [one.square for one in step.factors], [one.mean for one in step.factors]
    both = slice(count), slice(count, 2 * count)

    def micro(full: Column, cross: Column, bare: Column, unit: float) -> Column:
        """Energies and means behind the step: all of them, and those of the terms linear and square in beta."""
        all_along, all_across = (sum(bare[one]) / count for one in both)
        pull, square = 2.0 * value_mean * sum(full[2 * count :]) / count, gate.square * unit
        to_along = (
            erased.along_to_along * all_along
            + erased.across_to_along * all_across
            + square * second
            + pull * (gate.mean * along - erased.lost_along)
        )
        to_across = (
            erased.across_to_across * all_across
            + erased.along_to_across * all_along
            + square * across
            - pull * erased.lost_across
        )
        takes = [erased.takes_along] * count + [erased.takes_across] * count + [erased.takes_mean] * count
        gains = [to_along] * count + [to_across] * count + [written * unit] * count
        return [one - take * other + gain for one, other, take, gain in zip(full, cross, takes, gains, strict=False)]

    def token(state: Column) -> Column:
        unit = state[-1]
        moved = [
            (1.0 - turn2) * (one - other / width) for one, other in zip(state[both[0]], state[both[1]], strict=True)
        ]
        here = [one - less for one, less in zip(state[both[0]], moved, strict=True)]
        here += [one + more for one, more in zip(state[both[1]], moved, strict=True)]
        average = state[2 * count : -1]
        full = list(map(_times, here, squares * 2)) + [step.turn * one for one in map(_times, average, means)]
        if additive:
            parts = micro(full, list(map(_times, here, means * 2)) + average, here + average, unit)
        else:
            parts = micro(full, full, full, unit)
        for _ in range(mixer.erase.rank - 1):
            parts = micro(parts, parts, parts, unit)
        return [*parts, unit]

    return token


def _momentum_token(mixer: MixerSpec, key: Directed, gate: Moments, value_mean: float, step: Evolution) -> Step:
    """The map of [ss, ss across, sp, sp across, pp, pp across, mean s, mean p, 1] over one token."""
    width, share = max((key.rank or mixer.key_dim) - 1, 1), 0.5 if mixer.erase.direction == "key_scaled" else 1.0
    beta, unit_gate = erase_gain(mixer.erase.gain).moments, UNBIASED.moments
    along, second, third, fourth = key.along()
    across, across_fourth, skew, mixed = key.across()
    decay1, decay2 = step.together
    mu1, mu2 = unit_gate.mean, unit_gate.square
    eta1, eta2 = unit_gate.mean, unit_gate.square
    writes = gate.square > 0.0
    v, v2 = (value_mean, 1.0) if writes else (0.0, 0.0)

    def token(state: Column) -> Column:
        ss, ss_, sp, sp_, pp, pp_, s, p, unit = state
        grad = share * second * sp - v * along * p
        grad_ = share * across * sp_ / width
        square = share**2 * (fourth * ss + mixed * ss_ / width) - 2.0 * share * v * third * s + v2 * second * unit
        square_ = (
            share**2 * (mixed * ss + across_fourth * ss_ / width) - 2.0 * share * v * skew * s + v2 * across * unit
        )
        new_pp = mu2 * pp + 2.0 * mu1 * eta1 * grad + eta2 * square
        new_pp_ = mu2 * pp_ + 2.0 * mu1 * eta1 * grad_ + eta2 * square_
        with_s = mu1 * sp + eta1 * (share * second * ss - v * along * s)
        with_s_ = mu1 * sp_ + eta1 * share * across * ss_ / width
        new_p = mu1 * p + eta1 * (share * second * s - v * along * unit)
        return [
            decay2 * ss - 2.0 * decay1 * beta.mean * with_s + beta.square * new_pp,
            decay2 * ss_ - 2.0 * decay1 * beta.mean * with_s_ + beta.square * new_pp_,
            decay1 * with_s - beta.mean * new_pp,
            decay1 * with_s_ - beta.mean * new_pp_,
            new_pp,
            new_pp_,
            decay1 * s - beta.mean * new_p,
            new_p,
            unit,
        ]

    return token


def repeated(step: Step, state: Column, count: int, squares: list[Matrix] | None = None) -> Column:
    """`count` steps of a linear map: one by one where few, else by squaring its matrix.

    Args:
        squares: powers 1, 2, 4, ... of the matrix that earlier calls for this map made; those that lack are added.
    """
    size = len(state)
    if count <= 4 * size:
        for _ in range(count):
            state = step(state)
        return state
    squares = [] if squares is None else squares
    if not squares:
        columns = [step([1.0 if row == column else 0.0 for row in range(size)]) for column in range(size)]
        squares.append([list(row) for row in zip(*columns, strict=True)])
    for index in range(count.bit_length()):
        if index == len(squares):
            squares.append(_squared(squares[-1]))
        matrix = squares[index]
        if all(abs(value) < GONE for row in matrix[:-1] for value in row[:-1]):  # what all tokens left of the start
            return [row[-1] for row in matrix]
        if count >> index & 1:
            state = [sum(map(_times, row, state)) for row in matrix]
    return state


def _squared(matrix: Matrix) -> Matrix:
    columns = list(zip(*matrix, strict=True))
    return [[min(max(sum(map(_times, row, column)), -LARGEST), LARGEST) for column in columns] for row in matrix]


def _times(x: float, y: float) -> float:
    return x * y
