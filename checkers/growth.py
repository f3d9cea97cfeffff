"""Predicted output gain G(L) of a mixer whose rows nothing divides. Source: theory, P6.1.

G(L) = rms(z_jj) sqrt(min(L, 1 / (1 - a^2))) where E[z_ij v_j] = 0, and with min(L, 1 / (1 - a)) on the means where both
are non-zero; the factor a of the evolution and the gate b are tied as declared, over the initial range.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from checkers import scores
from checkers.quadrature import Moments, constant, moments
from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.readout import Identity, Readout, Sigmoid
from designspace.spec import Range

MAX_EXPONENT = 300.0  # of a capped gate; its square is still a finite float
INDEX_ENERGY = math.pi**2 / 6  # sum of 1 / j^2


@dataclass(frozen=True, slots=True)
class Step:
    """One setting of a head: the factor a of its evolution and the moments of its gate."""

    factor: float
    gate: Moments


@dataclass(frozen=True, slots=True)
class Gain:
    """Output rms over value rms: the range at initialisation, and what the declared ranges allow."""

    lowest: float
    highest: float
    supremum: float


def output_gain(mixer: MixerSpec, seq_len: int) -> Gain | None:
    """G(seq_len) without any normalization; None where a source of it is not declared."""
    product = scores.product_moments(mixer)
    initial = tuple(initial_steps(mixer))
    if product is None or not initial or mixer.lift.kind in ("momentum", "fenwick", "shift"):
        return None
    gains = [gain_of_step(mixer, product, step, seq_len) for step in initial]
    supremum = max((gain_of_step(mixer, product, step, seq_len) for step in supreme_steps(mixer)), default=math.inf)
    return Gain(min(gains), max(gains), max(supremum, *gains))


def gain_of_step(mixer: MixerSpec, product: Moments, step: Step, seq_len: int) -> float:
    """Output rms over value rms for one setting of the heads."""
    score = product.times_independent(step.gate).times(scores.score_base(mixer))
    after = mixer.base if mixer.scaling.where == "after" else 1.0
    written = _readout_moments(mixer.readout, score, seq_len).times(scores.tame(after))
    degree = readouts.homogeneous_degree(mixer.readout)
    factor = 1.0 if degree is None else min(step.factor, 1.0) ** degree  # phi(0) != 0 never forgets; CD602 judges > 1
    keys = _visible(mixer, seq_len)
    energy = INDEX_ENERGY if mixer.scaling.gate == "index" else _terms(_kept_energy(mixer, factor), keys)
    drift = written.mean * _value_mean(mixer) * _terms(_kept_mean(mixer, factor, product), keys)
    return math.hypot(written.rms * math.sqrt(energy), drift) / mixer.normalization.factor


def _terms(kept: float, keys: int) -> float:
    """min(keys, 1 / (1 - kept)): how many equal terms a geometric sum is worth."""
    return min(keys, 1.0 / (1.0 - kept)) if kept < 1.0 else keys


def initial_steps(mixer: MixerSpec) -> Iterable[Step]:
    """Corners of the initial range; none where the decay declares none."""
    initial = mixer.decay.initial_range
    if initial is None:
        return []
    if mixer.scaling.gate == "dt" and mixer.decay.granularity != "none":
        return _step_size_corners(initial, mixer.scaling.initial or scores.DEFAULT_DT)
    return [Step(factor, gate) for factor in initial if (gate := _gate_at(mixer, factor)) is not None]


def supreme_steps(mixer: MixerSpec) -> Iterable[Step]:
    """The ends of the declared range; none where the gate has no upper bound."""
    if mixer.scaling.gate in ("dt", "step_power", "exp", "exp_key") and mixer.scaling.cap is None:
        return []
    return [Step(factor, _largest_gate(mixer, factor)) for factor in mixer.decay.hull]


def _step_size_corners(decay: Range, step_size: Range) -> list[Step]:
    """a = exp(-rate dt), b = dt: the rates follow from the corners of `decay`, then every rate meets every dt."""
    slow = -math.log(decay[1]) / step_size[0] if step_size[0] > 0 and 0 < decay[1] < 1 else 0.0
    fast = -math.log(decay[0]) / step_size[1] if decay[0] > 0 else math.inf
    return [Step(math.exp(-rate * size), constant(size)) for rate in (slow, max(fast, slow)) for size in step_size]


def _gate_at(mixer: MixerSpec, factor: float) -> Moments | None:
    """The gate of a head whose decay is `factor`, at initialisation."""
    tied = _tied_gate(mixer, factor)
    return scores.gate_moments(mixer) if tied is None else constant(tied)


def _largest_gate(mixer: MixerSpec, factor: float) -> Moments:
    """The largest gate of a head whose decay is `factor`."""
    tied = _tied_gate(mixer, factor)
    return constant(_free_gate_bound(mixer) if tied is None else tied)


def _tied_gate(mixer: MixerSpec, factor: float) -> float | None:
    """The gate where it is a function of the decay (or the decay of the gate)."""
    gate, decay = mixer.scaling.gate, mixer.decay
    if gate == "complement" or (gate == "sigmoid" and not decay.is_identity and decay.map == "complement"):
        return 1.0 - factor
    if gate == "sigmoid" and not decay.is_identity and decay.map == "one_minus_bk2":
        return (1.0 - factor) / scores.tame(mixer.features.k_std) ** 2
    return scores.sqrt_complement(factor) if gate == "sqrt_1_minus_a2" else None


def _free_gate_bound(mixer: MixerSpec) -> float:
    match mixer.scaling.gate:
        case "two_sigmoid":
            return 2.0
        case "tied_to_erase":
            return mixer.erase.gain[1]
        case "exp" | "exp_key" | "dt" | "step_power":
            return math.inf if mixer.scaling.cap is None else math.exp(min(mixer.scaling.cap, MAX_EXPONENT))
        case "none" | "index" | "sigmoid" | "complement" | "sqrt_1_minus_a2":
            return 1.0


def _kept_energy(mixer: MixerSpec, factor: float) -> float:
    """Share of the state's energy that one step keeps: a^2, less what an erase takes from a random direction."""
    if mixer.erase.is_identity:
        return factor**2
    gain = 0.5 * sum(mixer.erase.gain) * min(mixer.key_norm_bound or 1.0, 1.0)
    return factor**2 * (1.0 - gain * (2.0 - gain) / mixer.key_dim)


def _kept_mean(mixer: MixerSpec, factor: float, product: Moments) -> float:
    """Share of the state along the mean key that one step keeps; an erase takes what keys have in common."""
    if mixer.erase.is_identity:
        return factor
    bound = mixer.key_norm_bound or 1.0
    overlap = min(max(abs(product.mean) / bound, 1.0 / mixer.key_dim), 1.0)
    return factor * (1.0 - min(0.5 * sum(mixer.erase.gain), 1.0) * overlap)


def _visible(mixer: MixerSpec, seq_len: int) -> int:
    return min(size for size in (seq_len, mixer.support.window, mixer.support.chunk) if size is not None)


def _value_mean(mixer: MixerSpec) -> float:
    """Mean of a value over its rms: not zero only behind an activation that is not odd."""
    if mixer.io.value_activation != "silu":
        return 0.0
    value = scores.entry("silu", 1.0, 1)
    return value.mean / math.sqrt(value.square)


@lru_cache(1024)
def _readout_moments(readout: Readout, score: Moments, seq_len: int) -> Moments:
    """Moments of phi(z) for a normal z with these moments."""
    match readout:
        case Identity() if not readout.is_capped:
            return score
        case Sigmoid(offset="-log_length"):
            offset = -math.log(seq_len)
        case _:
            offset = 0.0
    return moments(lambda x: readouts.value(readout, score.mean + score.std * x + offset))
