"""E y^2 of one head for values of rms 1: sums over the lags of E phi(z)^2, and of what the scores of a row share.

Values with a mean add up what phi(z) of a row have in common: its mean, and what it owes to the query.
Source: theory, P6.1.
"""

import math
from collections.abc import Iterable

from checkers import averages, directions, erased_growth, scores, starts
from checkers.erased_growth import Evolution, Written
from checkers.projections import tame
from checkers.quadrature import SPARSE
from checkers.row import PAIR, Head, Lag, Row, Score, lags, lognormal
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.readout import Readout, Sigmoid

MIXED = 4  # channels of a head that are followed through an erase


def energy(row: Row, head: Head) -> float:
    """E y^2 of the row, for one head."""
    mixer = row.mixer
    if row.visible <= 0:
        return 0.0
    base = scores.score_base(mixer) * mixer.scaling.query_factor(row.last)
    after = tame(mixer.base) if mixer.scaling.where == "after" else 1.0
    outside = (after / mixer.normalization.factor) ** 2
    if not readouts.is_linear(mixer.readout):
        return outside * _nonlinear(row, list(lags(row, head)), base)
    slope = outside * (base * readouts.value(mixer.readout, 1.0)) ** 2
    return slope * (_linear(row, lags(row, head)) if mixer.erase.is_identity else _erased(row, head))


def _erased(row: Row, head: Head) -> float:
    """A linear phi over a state that erases: the recursion of its second moments, for a few of the channels."""
    query, key = directions.query(row.mixer), directions.key(row.mixer)
    if query is None or key is None:
        return 0.0
    written = Written(head.present, head.later, row.value_mean)
    slots, few = head.start.slots, min(len(head.start.slots), MIXED)
    chosen = tuple(slots[int((index + 0.5) * len(slots) / few)].factor for index in range(few))
    step = Evolution(chosen, row.turn(1))
    found = erased_growth.energy(row.mixer, query, key, written, step, row.visible, row.last - row.visible)
    product = row.score.variance + row.score.mean**2
    plain = query.width * (query.square * key.square + (query.width - 1) * (query.mean * key.mean) ** 2)
    return max(found, 0.0) * (product / plain if plain else 1.0)


def _linear(row: Row, lags: Iterable[Lag]) -> float:
    """phi(z) = z: sum of E z^2, and where values have a mean (sum of E z)^2 besides."""
    squares = common = mean = query = 0.0
    for lag in lags:
        first, second = lag.gate
        squares += lag.count * second * (lag.mean * lag.mean + lag.from_query + lag.rest)
        mean += lag.count * first * lag.mean
        query += lag.count * first * math.sqrt(lag.from_query)
        common += lag.count * first * first * (lag.mean * lag.mean + lag.from_query)
    shared = 0.0 if row.mixer.lift.kind == "shift" else max(mean * mean + query * query - common, 0.0)
    return squares + row.value_mean**2 * shared * _shared_levels(row.mixer)


def _shared_levels(mixer: MixerSpec) -> float:
    """The keys of one Fenwick level share its weight; the largest level holds half of all keys, and so on."""
    if mixer.lift.kind != "fenwick":
        return 1.0
    return 1.0 + (starts.LEVEL.square / starts.LEVEL.mean**2 - 1.0) / 3.0


def _nonlinear(row: Row, lags: list[Lag], base: float) -> float:
    """Sum of E phi(z)^2, and what the rows share where values have a mean; z normal given gate and query."""
    drift, score = row.value_mean, row.score
    readout = _readout(row)
    average = averages.over_angles(readout, score.angles) if score.angles else averages.average(readout)
    shared = drift != 0.0 or score.frozen
    scatter = 0.0 if shared else _log_variance(score.scatter)  # else it may as well vary with the gate
    keys = [(lag, _sizes(lag, base, scatter)) for lag in lags]
    total = 0.0
    for weight, shift, scale in _queries(score, separate=drift != 0.0):
        squares = mean = common = 0.0
        for lag, sizes in keys:
            center = lag.mean + shift * math.sqrt(lag.from_query)
            spread = scale * scale * lag.rest + (0.0 if shared else lag.from_query)
            first = second = 0.0
            for size, share, bias in sizes:
                one, square = average(size * center + bias, size * size * spread)
                first += share * one
                second += share * square
            squares += lag.count * second
            mean += lag.count * first
            common += lag.count * first * first
        total += weight * (squares + drift * drift * max(mean * mean - common, 0.0))
    return total


def _sizes(lag: Lag, base: float, scatter: float) -> list[tuple[float, float, float]]:
    """(factor of q . k, weight, what a shear adds) of the keys at one distance, for a few gates and lengths of q."""
    gate, ratio = lag.gate.mean * base, 0.0
    if lag.gate.mean > 0.0:
        ratio = max(lag.gate.square / lag.gate.mean**2 - 1.0, 0.0)
    return [
        (gate * factor, weight * share, bias)
        for factor, weight in lognormal(scatter, math.log1p(ratio))
        for bias, share in lag.biases
    ]


def _queries(score: Score, *, separate: bool) -> list[tuple[float, float, float]]:
    """(weight, shift of the mean in standard deviations, scale of the rest) of a few queries."""
    if score.frozen:
        return [(weight, shift, 1.0) for shift, weight in SPARSE]
    if not separate:
        return [(1.0, 0.0, 1.0)]
    shifts = PAIR if score.from_query > 0.0 else ((0.0, 1.0),)
    scales = lognormal(_log_variance(score.scatter))
    return [(weight * other, shift, scale) for shift, weight in shifts for scale, other in scales]


def _log_variance(scatter: float) -> float:
    """Variance of log |q| of a length whose square has this relative variance."""
    return 0.25 * math.log1p(scatter)


def _readout(row: Row) -> Readout:
    """phi of this query: the offset `-log_length` of a sigmoid acts behind a softcap, as a number does."""
    readout = scores.effective_readout(row.mixer)
    if not isinstance(readout, Sigmoid) or readout.offset != "-log_length":
        return readout
    length = row.seq_len if row.mixer.normalization.length_kind == "target" else row.visible
    return readout.model_copy(update={"offset": -math.log(max(length, 1))})
