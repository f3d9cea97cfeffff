"""Predicted output gain G(L) of a mixer whose rows nothing divides. Source: theory, P6.1.

With values and scores independent at the start, G(L)^2 = E y^2 / E v^2 is the sum of `checkers.row_energy`: for signed
scores under a linear phi theory's G(L) = rms(z_jj) sqrt(min(L, 1 / (1 - a^2))). It is judged at the ends of the initial
range; what a probe measures is the mean square over all heads, whose decays lie between these ends.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from checkers import directions, initial_decay, scores, starts
from checkers.bounds import gate_bound
from checkers.initial_decay import HeadStart, fixed
from checkers.projections import underived
from checkers.quadrature import Moments, constant
from checkers.row import LOG_SIGMOID, ONE, Head, Row, expands, row
from checkers.row_energy import energy
from designspace import readout as readouts
from designspace.decay import schedule
from designspace.mixer import MixerSpec
from designspace.readout import Exponential, Polynomial
from designspace.recent import recent
from designspace.scaling import DT_INITIAL
from designspace.spec import Range
from designspace.streams import stream_counts

SETTLED = 800.0  # gain above which a product of random factors expands: its mean square is that of the rarest draws
QUARTER = 4
EXPONENTIAL = ("exp", "exp_key")  # gates
EXPANDED = ("taylor2", "rff")  # feature maps
OWN = ("sigmoid", "two_sigmoid", *EXPONENTIAL)  # gates with a pre-activation of their own
RARE = 3.5  # standard deviations: 1 of 4,000 draws is beyond
SLOPES = 4  # distinct slopes of a shear that are looked at
HALF = starts.UNBIASED.moments
BOTH = 2.0 * HALF.square, 2.0 * HALF.mean**2  # E (l^2 + (1 - m)^2) and 2 E l (1 - m) for independent halves l, m


@dataclass(frozen=True, slots=True)
class Gain:
    """Output rms over value rms: heads at the ends of the initial range.

    `slope`: of log `highest` against log length, from a quarter of the length on.
    """

    lowest: float
    highest: float
    slope: float


@recent
def output_gain(mixer: MixerSpec, seq_len: int) -> Gain | None:
    """G(seq_len) without any normalization; None where it is not derived, or no start is declared."""
    found, initial = _row(mixer, seq_len), initial_decay.start_range(mixer.decay)
    return None if found is None or initial is None else _gain(found, list(_corners(mixer, initial)))


def declared_gain(mixer: MixerSpec, seq_len: int) -> Gain | None:
    """The same over the ends of the declared range of the decay, whatever its start, with gates as they start."""
    found = _row(mixer, seq_len)
    if found is None or mixer.scaling.gate == "dt":
        return None
    return _gain(found, list(_ends(mixer, mixer.decay.hull)))


def _gain(found: Row, heads: list[Head]) -> Gain:
    gains = [_root(energy(found, head)) for head in heads]
    highest = max(gains)
    shorter = row(found.mixer, found.seq_len // QUARTER)
    before = 0.0 if shorter is None else _root(energy(shorter, heads[gains.index(highest)]))
    slope = math.log(highest / before) / math.log(QUARTER) if before > 0.0 and 0.0 < highest < math.inf else 0.0
    return Gain(min(gains), highest, slope)


def _root(square: float) -> float:
    """The root of an energy; one that overflows on the way (inf - inf) is infinite."""
    return math.inf if math.isnan(square) else math.sqrt(square)


def typical_gain(mixer: MixerSpec, seq_len: int) -> float | None:
    """Root mean square of G(seq_len) over the heads of the compiled mixer at initialisation."""
    found = _row(mixer, seq_len)
    heads = list(_heads(mixer))
    if found is None or not heads:
        return None
    gain = _root(math.fsum(energy(found, head) for head in heads) / len(heads))
    grows = gain > SETTLED and mixer.shear.is_identity and mixer.scaling.gate != "index"  # whatever its mean square is
    return None if not grows and rare(mixer, found, heads) else gain


def rare(mixer: MixerSpec, found: Row, heads: list[Head]) -> str | None:
    """Why a few draws do not show the mean square of the rows that is derived; None where they do."""
    if mixer.features.map in EXPANDED and not mixer.rotation.is_identity:
        return f"the mean of `map: {mixer.features.map}` lies in few channels, whose angles are not those of all"
    nonlinear = not readouts.is_linear(mixer.readout)
    degree = readouts.homogeneous_degree(mixer.readout) or max(readouts.monomials(mixer.readout), default=1)
    if mixer.scaling.gate in EXPONENTIAL and mixer.scaling.cap is None:
        logs = max(math.log(max(head.present.square / head.present.mean**2, 1.0)) for head in heads)
        if 2.0 * degree * math.sqrt(logs) > RARE:
            return f"the gate {mixer.scaling.gate} to the power {2 * degree:g} has its mean where few tokens have it"
    if isinstance(mixer.readout, Exponential) and not mixer.readout.is_capped and not found.score.angles:
        spread = abs(scores.score_base(mixer)) * math.sqrt(found.score.variance)
        if 2.0 * spread * max(head.present.rms for head in heads) > RARE:
            return "exp of scores this wide has its mean square where few keys have it"
    if nonlinear and not mixer.erase.is_identity and any(expands(found, head) for head in heads):
        return "phi of what an erase expands is that of typical keys, not of their mean square"
    return None


def not_derived(mixer: MixerSpec) -> str | None:
    """What of the mixer has no closed form here; None where the gain follows from the declared start."""
    reason = underived(mixer)
    if reason is not None:
        return reason
    if mixer.scaling.gate in EXPONENTIAL and isinstance(mixer.readout, Exponential) and not mixer.readout.is_capped:
        return f"under an exponential readout the rarest of the gates {mixer.scaling.gate} decide the mean square"
    if not mixer.erase.is_identity and (directions.query(mixer) is None or directions.key(mixer) is None):
        return f"what an erase leaves of `map: {mixer.features.map}` is not derived"
    return None


def _row(mixer: MixerSpec, seq_len: int) -> Row | None:
    return row(mixer, seq_len) if not_derived(mixer) is None else None


def _heads(mixer: MixerSpec) -> Iterator[Head]:
    """The heads of the initial grid."""
    found, slopes = initial_decay.compiled_heads(mixer), _slopes(mixer)
    gates: Sequence[Moments | None] = _gates(mixer, len(found)) or (None,) * len(found)
    return (_head(mixer, start, slope, gate) for start, gate in zip(found, gates, strict=True) for slope in slopes)


def _gates(mixer: MixerSpec, count: int) -> list[Moments]:
    """The gates of the heads one by one, where they rise over the heads as the decays do; none elsewhere."""
    scaling, decay = mixer.scaling, mixer.decay
    own = scaling.gate in OWN and scaling.initial is not None and decay.map not in ("complement", "one_minus_bk2")
    if count < 2 or not own or stream_counts(mixer).value != mixer.heads.num_heads:
        return []
    return [
        starts.noisy(lambda x: starts.gate_value(scaling, x), *one)
        for one in starts.gate_starts(scaling, count, most=count)
    ]


def _head(mixer: MixerSpec, start: HeadStart, slope: float, gate: Moments | None = None) -> Head:
    present, later = _lifted(mixer, gate or _gate(mixer, start))
    if mixer.lift.kind == "fenwick":
        level = starts.LEVEL.moments
        present, later = present.times_independent(level), later.times_independent(level)
    return Head(start, present, later, slope)


def _slopes(mixer: MixerSpec) -> list[float]:
    """What the score of a key gains per step, of a few heads (the mean of an input shear)."""
    sign = -1.0 if mixer.shear.sign == "decreasing" else 1.0
    factor = scores.score_base(mixer) if mixer.shear.scaled else 1.0
    match mixer.shear.source:
        case "constant":
            found = mixer.shear.head_slopes(mixer.heads.num_heads)
            few = sorted(set(found[:: max(len(found) // SLOPES, 1)]))
            return [sign * factor * slope for slope in few]
        case "input":
            return [-sign * factor * LOG_SIGMOID.mean]
        case "none" | "table":
            return [0.0]


def _gate(mixer: MixerSpec, start: HeadStart) -> Moments:
    """The gate of a head, tied to its decay where the design ties it."""
    gate, slot = mixer.scaling.gate, start.slots[0]
    if gate == "complement" or (gate == "sigmoid" and not mixer.decay.is_identity and mixer.decay.map == "complement"):
        return slot.complement
    if gate == "sqrt_1_minus_a2":
        return slot.root
    if gate in ("index", "none", "step_power"):  # index: of each position; step_power: part of the key
        return ONE
    return start.step or scores.gate_moments(mixer)


def _lifted(mixer: MixerSpec, gate: Moments) -> tuple[Moments, Moments]:
    """The gate of a key at its own step, and of one whose next step has added its share (delay1).

    A gate of its own is split into l g now and (1 - l') g' one step later (Mamba-3).
    """
    if mixer.lift.kind == "momentum":
        return ONE, ONE  # the recursion writes the gain
    if mixer.lift.kind != "delay1":
        return gate, gate
    if mixer.scaling.gate == "none":
        return ONE, Moments(1.0 + HALF.mean, 1.0 + 2.0 * HALF.mean + HALF.square)
    if mixer.scaling.gate == "tied_to_erase":
        mean = gate.mean * (1.0 + HALF.mean)
        return gate, Moments(mean, gate.square * (1.0 + HALF.square) + 2.0 * gate.mean**2 * HALF.mean)
    both = Moments(gate.mean, gate.square * BOTH[0] + gate.mean**2 * BOTH[1])
    return gate.times_independent(HALF), both


def _corners(mixer: MixerSpec, initial: Range) -> Iterator[Head]:
    """Heads at the ends of the initial range; the heads themselves where each holds channels of all of it."""
    if mixer.scaling.gate == "dt" and mixer.decay.granularity != "none":
        return _step_size_corners(mixer, initial, mixer.scaling.initial or DT_INITIAL)
    if any(len(start.slots) > 1 for start in initial_decay.heads(mixer)) or mixer.decay.map == "one_minus_bk2":
        return _heads(mixer)
    if mixer.decay.source == "constant" and mixer.decay.granularity != "none":
        factors = schedule(mixer.decay, mixer.heads.num_heads)
        initial = min(factors), max(factors)
    return _ends(mixer, initial)


def _ends(mixer: MixerSpec, bounds: Range) -> Iterator[Head]:
    """Heads at the ends of a range; of the slopes those at the ends where phi is monotone."""
    slopes = _slopes(mixer)
    if not isinstance(mixer.readout, Polynomial):
        slopes = sorted({slopes[0], slopes[-1]})
    for factor in sorted(set(bounds)):
        for slope in slopes:
            yield _head(mixer, HeadStart((fixed(mixer, factor),)), slope)


def _step_size_corners(mixer: MixerSpec, decay: Range, step_size: Range) -> Iterator[Head]:
    """a = exp(-rate dt), b = dt: the rates follow from the corners of `decay`, then every rate meets every dt."""
    slow = -math.log(decay[1]) / step_size[0] if step_size[0] > 0 and 0 < decay[1] < 1 else 0.0
    fast = -math.log(decay[0]) / step_size[1] if decay[0] > 0 and step_size[1] > 0 else math.inf
    for rate in (slow, max(fast, slow)):
        for size in step_size:
            slot = fixed(mixer, math.exp(-rate * size) if size else 1.0)
            yield _head(mixer, HeadStart((slot,), constant(size)), 0.0)


def gain_supremum(mixer: MixerSpec, seq_len: int) -> float:
    """The largest gain at the ends of the declared ranges; infinite where the gate has no upper bound."""
    found, largest_gate = _row(mixer, seq_len), gate_bound(mixer)
    if found is None or math.isinf(largest_gate):
        return math.inf
    if mixer.scaling.gate == "none" and mixer.decay.granularity == "none":  # nothing has a range
        gain = output_gain(mixer, seq_len)
        return math.inf if gain is None else gain.highest
    acts = not mixer.decay.is_identity
    tied = acts and (mixer.scaling.gate in ("complement", "sqrt_1_minus_a2") or mixer.decay.map == "complement")
    heads = _ends(mixer, mixer.decay.hull)
    if not tied and mixer.scaling.gate != "none":
        bound = constant(largest_gate)
        heads = (replace(head, present=bound, later=bound) for head in heads)
    return max(_root(energy(found, head)) for head in heads)
