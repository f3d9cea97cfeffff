"""Where the parameters and pre-activations of a mixer start, so that decays and gates span their declared ranges.

A parameter grid places the values over heads and channels; the tokens add normal noise around it (`raw_std`).
"""

import hashlib
import math

import torch
from torch import Tensor

from designspace.decay import Decay
from designspace.mixer import MixerSpec
from designspace.scaling import DT_INITIAL
from designspace.streams import decay_slots, parameter_shapes, raw_shapes, shares_step, stream_counts
from workers import gates

SCALAR_RATES = (1.0, 16.0)  # A of a scalar decay exp(-A dt) where no range is declared (Mamba-2, arXiv 2405.21060)
NORMAL_90 = 1.645  # half of the central 90 % of a standard normal
TOKEN_SHARE = 0.1  # of the interval of pre-activations: least standard deviation that the tokens add
RANDOMISED = ("table", "sink", "bonus", "skip", "second_logit", "shear_bias")  # drawn for random signals only
GAINS = ("q_gain", "k_gain", "base")  # random signals multiply them
GAIN_JITTER = 0.2  # standard deviation of the log of that factor


def derived_seed(seed: int, name: str) -> int:
    """A seed of its own for each (seed, name), the same in every process."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:7], "big")


def normal(shape: tuple[int, ...], *, seed: int, name: str) -> Tensor:
    """Standard normal numbers (float64) from a stream for each (seed, name): specs that share a name share them."""
    generator = torch.Generator().manual_seed(derived_seed(seed, name))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def initial_parameters(spec: MixerSpec, *, seed: int) -> dict[str, Tensor]:
    """The signal parameters at initialisation in float64, as in `designspace.streams.parameter_shapes`."""
    return {name: _initial(spec, name, shape, seed) for name, shape in parameter_shapes(spec).items()}


def random_parameters(spec: MixerSpec, *, seed: int) -> dict[str, Tensor]:
    """Parameters as after training: decays and gates at their initial values, everything else drawn at random."""
    found = initial_parameters(spec, seed=seed)
    for name, start in found.items():
        draw = normal(tuple(start.shape), seed=seed, name=f"random {name}")
        if name in RANDOMISED:
            found[name] = draw
        elif name in GAINS:
            found[name] = start * (GAIN_JITTER * draw).exp()
    return found


def _initial(spec: MixerSpec, name: str, shape: tuple[int, ...], seed: int) -> Tensor:
    match name:
        case "decay_bias":
            return _decay_bias(spec, shape)
        case "decay_input_bias":
            return -_decay_bias(spec, shape)
        case "decay_rate":
            return _decay_rate(spec, shape)
        case "gate_bias":
            return _gate_bias(spec, shape)
        case "angle":
            return _angles(spec, shape)
        case "q_static" | "k_static":
            std = spec.features.q_std if name == "q_static" else spec.features.k_std
            return std * normal(shape, seed=seed, name=name)
        case "taps":
            return normal(shape, seed=seed, name=name) / math.sqrt(shape[-1])
        case "q_gain" | "k_gain":
            return torch.full(shape, spec.features.gain, dtype=torch.float64)
        case "base":
            return torch.full(shape, spec.base, dtype=torch.float64)
        case "skip":
            return torch.ones(shape, dtype=torch.float64)
        case "bonus":
            return torch.full(shape, 1.0 if spec.support.read == "before" else 0.0, dtype=torch.float64)
        case _:
            return torch.zeros(shape, dtype=torch.float64)


def _angles(spec: MixerSpec, shape: tuple[int, ...]) -> Tensor:
    """Learned angles at initialisation, over the declared range or like the constant ones."""
    initial = spec.rotation.initial
    if initial is None:
        return spec.rotation.theta ** -_rotation_spread(*shape)
    low, high = initial
    position = gates.spread(*shape)
    return low + (high - low) * position if low == 0 else gates.log_span(low, high, position)


def _rotation_spread(streams: int, pairs: int) -> Tensor:
    """Exponents of the learned angles: the first head starts like rotary, the others lie between its pairs."""
    stream = torch.arange(streams, dtype=torch.float64)[:, None] / streams
    return (torch.arange(pairs, dtype=torch.float64) + stream) / pairs


def _decay_target(decay: Decay, shape: tuple[int, ...]) -> Tensor | None:
    """The decay factor of each head and channel at initialisation."""
    if decay.initial is None:
        return None
    streams, slots = shape
    return gates.decay_span(*decay.initial, gates.spread(streams, slots))


def _decay_bias(spec: MixerSpec, shape: tuple[int, ...]) -> Tensor:
    target = _decay_target(spec.decay, shape)
    if target is None or spec.decay.map == "rglru":
        return torch.zeros(shape, dtype=torch.float64)
    return gates.decay_preactivation(spec.decay, target)


def _decay_rate(spec: MixerSpec, shape: tuple[int, ...]) -> Tensor:
    """log A of exp_softplus (1 unless the step is the gate's), p of rglru."""
    target = _decay_target(spec.decay, shape)
    if spec.decay.map == "rglru":
        return (
            torch.zeros(shape, dtype=torch.float64) if target is None else gates.decay_preactivation(spec.decay, target)
        )
    if not shares_step(spec):
        return torch.zeros(shape, dtype=torch.float64)
    first, last = _rate_range(spec, slots=shape[1])
    if target is not None and first > last * (1.0 + gates.INSIDE):  # a narrower range than the steps span
        relative = (target / spec.decay.range[1]).clamp(gates.INSIDE, 1.0 - gates.INSIDE)
        return (-relative.log() / _gate_start(spec, shape[0])[:, None]).log()
    return _rates(first, last, *shape).log()


def _rate_range(spec: MixerSpec, *, slots: int) -> tuple[float, float]:
    """Smallest and largest A of a = exp(-A dt): a range of a starts at the largest A dt and ends at the smallest.

    None declared: 1..n over the channels (S4D-real, Mamba) or 1..16 over the heads (Mamba-2).
    """
    if spec.decay.initial is None:
        return (1.0, float(slots)) if slots > 1 else SCALAR_RATES
    smallest_step, largest_step = spec.scaling.initial or DT_INITIAL
    top = max(spec.decay.range[1], gates.INSIDE)
    low, high = (min(max(a / top, gates.INSIDE), 1.0 - gates.INSIDE) for a in spec.decay.initial)
    return -math.log(high) / max(smallest_step, gates.INSIDE), -math.log(low) / max(largest_step, gates.INSIDE)


def _rates(first: float, last: float, streams: int, slots: int) -> Tensor:
    """A evenly over the channels, or over the heads where a head has one."""
    if slots > 1:
        return torch.linspace(first, last, slots, dtype=torch.float64).expand(streams, slots)
    return torch.linspace(first, last, streams, dtype=torch.float64)[:, None]


def _gate_start(spec: MixerSpec, streams: int) -> Tensor:
    """The scaling gate of each stream at initialisation."""
    low, high = spec.scaling.initial or DT_INITIAL
    return gates.log_span(low, high, gates.spread(streams, 1)[:, 0])


def _gate_bias(spec: MixerSpec, shape: tuple[int, ...]) -> Tensor:
    (streams,) = shape
    if spec.decay.granularity != "none" and spec.decay.initial is not None:
        target = gates.decay_span(*spec.decay.initial, gates.spread(streams, 1)[:, 0])
        if spec.decay.map == "complement":
            return gates.decay_preactivation(spec.decay, target)
        if spec.decay.map == "one_minus_bk2":
            return _longhorn_gate(spec, target)
    if spec.scaling.gate != "dt" and spec.scaling.initial is None:
        return torch.zeros(shape, dtype=torch.float64)
    return gates.gate_preactivation(spec.scaling, _gate_start(spec, streams))


def _longhorn_gate(spec: MixerSpec, target: Tensor) -> Tensor:
    """x with 1 - b k^2 = a at the mean square of k, b = g / (1 + g |k|^2) and g = sigmoid(x)."""
    features, bound = spec.features, spec.key_norm_bound
    together = spec.key_dim * (spec.heads.groups if features.norm_over == "all_heads" else 1)
    square = features.k_std**2 if bound is None else bound / together
    write = ((1.0 - target) / square).clamp(min=gates.INSIDE)
    room = (1.0 - write * square * spec.key_dim).clamp(min=gates.INSIDE)
    return (write / room).clamp(gates.INSIDE, 1.0 - gates.INSIDE).logit()


def raw_std(spec: MixerSpec) -> dict[str, float]:
    """Standard deviation over tokens of every pre-activation at initialisation.

    q and k take q_std and k_std. A decay or gate with a declared range takes the part of its interval that the grid
    over heads and channels leaves (all of it for a single value), at most 1; everything else is 1.
    """
    found = dict.fromkeys(raw_shapes(spec), 1.0)
    if spec.features.map != "scaled_static":  # there the learned vectors carry the spread
        found |= {name: std for name, std in (("q", spec.features.q_std), ("k", spec.features.k_std)) if name in found}
    streams = stream_counts(spec).value
    decay = spec.decay
    if decay.initial is not None and "decay" in found and decay.map != "rglru":
        low, high = gates.decay_preactivation(decay, torch.tensor(decay.initial, dtype=torch.float64)).tolist()
        found["decay"] = _token_std(high - low, streams * decay_slots(spec))
        if "decay_input" in found:
            found["decay_input"] = found["decay"]
    for name in ("gate", "key_logit"):
        if name in found and (spec.scaling.gate == "dt" or spec.scaling.initial is not None):
            ends = torch.tensor(spec.scaling.initial or DT_INITIAL, dtype=torch.float64)
            low, high = gates.gate_preactivation(spec.scaling, ends).tolist()
            found[name] = _token_std(high - low, streams)
    if decay.reads_input and decay.map == "complement" and decay.initial is not None:
        low, high = gates.decay_preactivation(decay, torch.tensor(decay.initial, dtype=torch.float64)).tolist()
        found["gate"] = _token_std(high - low, streams)
    return found


def _token_std(interval: float, values: int) -> float:
    """A single value leaves the whole interval to the tokens: its central 90 %."""
    return min(1.0, abs(interval) * max(TOKEN_SHARE, 0.5 / NORMAL_90 / values))
