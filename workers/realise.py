"""From pre-activations to signals: the one function that the mixer and the tests share.

Token pre-activations (`raw`, [batch, seq_len * steps, streams, width]) come from projections in `workers.mixer` and
from normal draws in `random_signals`; parameters from training or from `initial_parameters`. Maps: `workers.gates`
and `workers.feature_maps`; names and shapes: `designspace.streams`.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from designspace import decay as decays
from designspace.mixer import MixerSpec
from designspace.streams import raw_shapes as raw_shapes
from designspace.streams import shares_step, stream_counts
from workers import feature_maps, gates
from workers.initial import initial_parameters as initial_parameters
from workers.initial import normal, random_parameters, raw_std
from workers.signals import Signals

Raw = Mapping[str, Tensor]
DIRECTION_EPS = 1.0e-6  # added to |w|^2 of a free erase direction, as in the delta-rule layers
UNIT_SOFTPLUS = 0.5413248546129181  # softplus of it is 1: every Fenwick level starts with weight 1


def random_signals(
    spec: MixerSpec, *, seed: int, batch: int, seq_len: int, dtype: torch.dtype = torch.float64
) -> Signals:
    """Signals of iid normal tokens at the initial scales, and of random parameters.

    Each name has its own random stream, so two specs that need the same pre-activation get the same numbers.
    """
    std = raw_std(spec)
    raw = {
        name: std[name] * normal((batch, seq_len * shape.steps, shape.heads, shape.width), seed=seed, name=name)
        for name, shape in raw_shapes(spec).items()
    }
    parameters = random_parameters(spec, seed=seed)
    return realise(
        spec,
        {name: value.to(dtype) for name, value in raw.items()},
        {name: value.to(dtype) for name, value in parameters.items()},
    )


def realise(spec: MixerSpec, raw: Raw, parameters: Raw) -> Signals:
    """The signals of a spec.

    Args:
        raw: every entry of `raw_shapes(spec)`, [batch, seq_len * steps, streams, width].
        parameters: every entry of `parameter_shapes(spec)`.
    """
    gate = _input_gate(spec, raw, parameters)
    if spec.features.map == "one_minus_decay":
        log_decay = _log_decay(spec, raw, parameters, gate, key=None)
        q, k = _features(spec, raw, parameters, log_decay)
    else:
        q, k = _features(spec, raw, parameters, None)
        log_decay = _log_decay(spec, raw, parameters, gate, key=k)
    if spec.decay.map == "one_minus_bk2" and spec.decay.granularity != "none" and gate is not None:
        gate = _longhorn_step(gate, k)
    angle = _angle(spec, raw, parameters, gate)
    direction = _direction(spec, raw)
    if angle is not None and _norm_waits(spec):
        q, k, direction = _prerotated(spec, parameters, angle, (q, k, direction))
        angle = None
    if spec.scaling.gate == "step_power":
        k = k * _step_power(spec, raw, parameters)
    q, k = _stretched(spec, q), _stretched(spec, k)
    gain = _gain(spec, raw)
    gate, tap = _write(spec, raw, gate, gain, log_decay)
    heads = spec.heads.num_heads
    return Signals(
        q=q,
        k=k,
        v=per_head(_value(spec, raw), heads),
        log_decay=log_decay,
        angle=angle,
        gain=gain,
        direction=direction,
        second=_second(spec, parameters, k),
        shear=_shear(spec, raw, parameters),
        table=parameters.get("table"),
        gate=gate,
        base=parameters.get("base"),
        tap=tap,
        taps=parameters.get("taps"),
        momentum=_unit_gate(raw, "momentum", heads),
        rate=_unit_gate(raw, "rate", heads),
        levels=F.softplus(raw["levels"] + UNIT_SOFTPLUS) if "levels" in raw else None,
        bonus=parameters.get("bonus"),
        skip=parameters.get("skip"),
        sink=parameters.get("sink"),
        log_eta=raw["log_eta"].squeeze(-1) if "log_eta" in raw else None,
        log_gate=_log_gate(spec, raw, parameters),
    )


def per_head(x: Float[Tensor, "batch steps streams ..."], num_heads: int) -> Float[Tensor, "batch steps num_heads ..."]:
    """Each shared stream repeated for the consecutive heads that share it."""
    return x if x.shape[2] == num_heads else x.repeat_interleave(num_heads // x.shape[2], dim=2)


def _seq_len(spec: MixerSpec, raw: Raw) -> int:
    return raw["v"].shape[1] // spec.erase.rank


def _value(spec: MixerSpec, raw: Raw) -> Tensor:
    v = raw["v"]
    match spec.io.value_activation:
        case "silu":
            v = F.silu(v)
        case "tanh":
            v = v.tanh()
        case "none":
            pass
    return v * raw["v_gate"].sigmoid() if "v_gate" in raw else v


def _features(spec: MixerSpec, raw: Raw, parameters: Raw, log_decay: Tensor | None) -> tuple[Tensor, Tensor]:
    """Queries and keys after map and norm, one per head. The norm waits where it does not commute with the rotation."""
    q, k = _mapped(spec, raw, parameters, log_decay)
    if not _norm_waits(spec):
        q, k = _normalised(spec, parameters, q, k)
    return per_head(q, spec.heads.num_heads), per_head(k, spec.heads.num_heads)


def _norm_waits(spec: MixerSpec) -> bool:
    after = spec.features.norm_order == "after_rotation" and not spec.rotation.is_identity
    return after and not feature_maps.commutes_with_rotation(spec.features)


def _mapped(spec: MixerSpec, raw: Raw, parameters: Raw, log_decay: Tensor | None) -> tuple[Tensor, Tensor]:
    features, v = spec.features, raw["v"]
    steps, tokens = v.shape[1], _seq_len(spec, raw)
    match features.map:
        case "static":
            q, k = parameters["q_static"], parameters["k_static"]
            return q.expand(v.shape[0], tokens, *q.shape), k.expand(v.shape[0], steps, *k.shape)
        case "scaled_static":
            return parameters["q_static"] * raw["q"], parameters["k_static"] * raw["k"]
        case "ones":
            count, one = stream_counts(spec), v.new_ones(())
            return (
                one.expand(v.shape[0], tokens, count.query, spec.key_dim),
                one.expand(v.shape[0], steps, count.key, spec.key_dim),
            )
        case "one_minus_decay":
            if log_decay is None:
                raise ValueError("`features.map: one_minus_decay` needs a diagonal decay.")
            k = gates.complement(log_decay).repeat_interleave(spec.erase.rank, dim=1)
            return feature_maps.mapped(features, raw["q"]), k.expand(v.shape[0], *k.shape[1:])
        case _:
            q = feature_maps.mapped(features, raw["q"], raw.get("q_factor"))
            return q, feature_maps.mapped(features, raw["k"], raw.get("k_factor"))


def _normalised(spec: MixerSpec, parameters: Raw, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    features = spec.features
    q_gain, k_gain = parameters.get("q_gain"), parameters.get("k_gain")
    if q_gain is not None and q_gain.dim() == 2 and q.shape[2] != q_gain.shape[0]:
        q_gain = q_gain.repeat_interleave(q.shape[2] // q_gain.shape[0], dim=0)
    if k_gain is not None and k_gain.dim() == 2 and k.shape[2] != k_gain.shape[0]:
        k_gain = k_gain.repeat_interleave(k.shape[2] // k_gain.shape[0], dim=0)
    q = feature_maps.normalised(features, q, q_gain) if features.norm_on == "qk" else q * features.gain
    return q, feature_maps.normalised(features, k, k_gain)


def _log_decay(
    spec: MixerSpec, raw: Raw, parameters: Raw, gate: Tensor | None, *, key: Tensor | None
) -> Float[Tensor, "#batch seq_len num_heads width"] | None:
    decay, heads, rank = spec.decay, spec.heads.num_heads, spec.erase.rank
    if decay.granularity == "none":
        return None
    match decay.map:
        case "fixed":
            a = raw["v"].new_tensor(decays.schedule(decay, heads)).log()
            log_a = a[None, None, :, None]
        case "complement":
            x = raw["gate"][:, ::rank] + parameters["gate_bias"][:, None]
            log_a = gates.log_decay(decay, x)
        case "one_minus_bk2":
            log_a = _longhorn_log_decay(spec, per_head(_required(gate), heads)[:, ::rank], _required(key)[:, ::rank])
        case _ if shares_step(spec):
            step = _required(gate)[:, ::rank].unsqueeze(-1)
            log_a = gates.step_log_decay(decay, step, parameters["decay_rate"])
        case _ if decay.source == "input":
            second = {"ratio": "decay_input", "exp_softplus_tau": "decay_power"}.get(decay.map)
            x_input = raw[second] + parameters[f"{second}_bias"] if second else None
            rate = parameters.get("decay_rate")
            log_a = gates.log_decay(decay, raw["decay"] + parameters["decay_bias"], rate, x_input)
        case _:
            log_a = gates.log_decay(decay, parameters["decay_bias"][None, None], parameters.get("decay_rate"))
    log_a = _channels(spec, per_head(log_a, heads))
    return log_a.expand(-1, _seq_len(spec, raw), -1, -1)


def _channels(spec: MixerSpec, log_a: Tensor) -> Tensor:
    """One factor per key channel of a diagonal decay; the two channels of a rotating pair take the same one."""
    width = spec.key_dim
    if spec.decay.granularity == "scalar" or log_a.shape[-1] == width:
        return log_a
    if log_a.shape[-1] == 1:
        return log_a.expand(*log_a.shape[:-1], width)
    pairs = spec.rotation.pairs(width)
    first, second = feature_maps.pair_channels(pairs, spec.rotation.pairing)
    slot = list(range(pairs)) + list(range(pairs)) + list(range(pairs, width - pairs))
    channel = first + second + list(range(2 * pairs, width))
    order = [slot[channel.index(one)] for one in range(width)]
    return log_a[..., order]


def _longhorn_step(gate: Tensor, key: Tensor) -> Tensor:
    """b = g / (1 + g |k|^2) (Longhorn, arXiv 2407.14207)."""
    gate = per_head(gate, key.shape[2])
    return gate / (1.0 + gate * key.square().sum(-1))


def _longhorn_log_decay(spec: MixerSpec, gate: Tensor, key: Tensor) -> Tensor:
    """log(1 - b k^2) per channel, with the mean square over the two channels of a rotating pair."""
    low, high = spec.decay.range
    square = key.square()
    pairs = spec.rotation.pairs(key.shape[-1])
    if pairs:
        first, second = feature_maps.pair_channels(pairs, spec.rotation.pairing)
        mean = 0.5 * (square[..., first] + square[..., second])
        square = torch.cat((mean, square[..., 2 * pairs :]), dim=-1)
    removed = _longhorn_step(gate, key).unsqueeze(-1) * square
    return (low + (high - low) * (1.0 - removed)).log()


def _required(x: Tensor | None) -> Tensor:
    if x is None:
        raise ValueError("the decay is computed from a scaling gate that the spec does not have.")
    return x


def _step_power(spec: MixerSpec, raw: Raw, parameters: Raw) -> Float[Tensor, "batch steps num_heads n"]:
    """softplus(x)^tau of each key channel (Rodimus, arXiv 2410.06577)."""
    step = F.softplus(raw["decay"] + parameters["decay_bias"])
    power = (raw["decay_power"] + parameters["decay_power_bias"]).sigmoid()
    written = _channels(spec, per_head(step**power, spec.heads.num_heads))
    return written.repeat_interleave(spec.erase.rank, dim=1)


def _stretched(
    spec: MixerSpec, x: Float[Tensor, "batch steps num_heads n"]
) -> Float[Tensor, "batch steps num_heads n"]:
    """The rotating channels times the attention factor of the rotation (YaRN, arXiv 2309.00071)."""
    factor, rotating = spec.rotation.attention_factor, 2 * spec.rotation.pairs(spec.key_dim)
    if factor == 1.0 or not rotating:
        return x
    return torch.cat((x[..., :rotating] * factor, x[..., rotating:]), dim=-1)


def _input_gate(spec: MixerSpec, raw: Raw, parameters: Raw) -> Float[Tensor, "batch steps streams"] | None:
    """The scaling gate where it has a pre-activation of its own, else None."""
    name = "key_logit" if spec.scaling.gate == "exp_key" else "gate"
    if name not in raw:
        return None
    gate = gates.gate(spec.scaling, raw[name].squeeze(-1) + parameters["gate_bias"])
    return _complement_gate(spec, gate) if spec.decay.reads_input and spec.decay.map == "complement" else gate


def _log_gate(spec: MixerSpec, raw: Raw, parameters: Raw) -> Float[Tensor, "batch steps num_heads"] | None:
    """The log of a gate that a running maximum keeps in range; None where a lift splits the gate."""
    if not spec.keeps_gate_maximum or spec.lift.kind == "delay1":
        return None
    name = "key_logit" if spec.scaling.gate == "exp_key" else "gate"
    return per_head(gates.log_gate(spec.scaling, raw[name].squeeze(-1) + parameters["gate_bias"]), spec.heads.num_heads)


def _write(
    spec: MixerSpec, raw: Raw, gate: Tensor | None, gain: Tensor | None, log_decay: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Scaling gate [#batch, steps, heads] and the weight of the previous key (delay1).

    The trapezoidal rule splits a gate of its own into l g for the present and (1 - l) g for the previous key, with
    l = sigmoid of the token (Mamba-3); without such a gate the previous key enters with (1 - l), times a tied gain.
    """
    heads, rank = spec.heads.num_heads, spec.erase.rank
    if gate is None:
        gate = _derived_gate(spec, raw, log_decay)
    gate = gate if gate is None else per_head(gate, heads)
    if "tap" not in raw:
        return gate, None
    present = per_head(raw["tap"].sigmoid(), heads).squeeze(-1)
    if spec.scaling.gate == "tied_to_erase" and gain is not None:
        return gate, (1.0 - present) * gain[:, ::rank].squeeze(-1)
    return (None, 1.0 - present) if gate is None else (present * gate, (1.0 - present) * gate)


def _derived_gate(spec: MixerSpec, raw: Raw, log_decay: Tensor | None) -> Tensor | None:
    rank, steps = spec.erase.rank, raw["v"].shape[1]
    match spec.scaling.gate:
        case "complement" | "sqrt_1_minus_a2" if log_decay is not None:
            is_complement = spec.scaling.gate == "complement"
            value = gates.complement(log_decay) if is_complement else gates.sqrt_complement_of_square(log_decay)
            return value[..., 0].repeat_interleave(rank, dim=1)
        case "index":
            token = torch.arange(steps, device=raw["v"].device) // rank
            return (1.0 / (token + 1).to(raw["v"].dtype))[None, :, None].expand(-1, -1, spec.heads.num_heads)
        case _:
            return None


def _complement_gate(spec: MixerSpec, gate: Tensor) -> Tensor:
    """The sigmoid gate squeezed so that 1 - gate keeps the declared range of the decay."""
    low, high = spec.decay.range[0], min(spec.decay.range[1], 1.0)
    return gate if (low, high) == (0.0, 1.0) else (1.0 - high) + (high - min(low, high)) * gate


def _angle(
    spec: MixerSpec, raw: Raw, parameters: Raw, gate: Tensor | None
) -> Float[Tensor, "#batch seq_len num_heads pairs"] | None:
    """The angle of each step; one from the token is a speed, times the step size where there is one (Mamba-3)."""
    if spec.rotation.is_identity:
        return None
    match spec.rotation.source:
        case "input":
            angle = torch.pi * raw["angle"].tanh()
            if spec.scaling.gate == "dt":
                angle = angle * _required(gate)[:, :: spec.erase.rank].unsqueeze(-1)
        case "learned":
            angle = parameters["angle"][None, None]
        case _:
            angle = raw["v"].new_tensor(spec.rotation.angles(spec.key_dim))[None, None, None]
    return per_head(angle, spec.heads.num_heads).expand(-1, _seq_len(spec, raw), -1, -1)


def _prerotated(
    spec: MixerSpec, parameters: Raw, angle: Tensor, vectors: tuple[Tensor, Tensor, Tensor | None]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """q, k and direction in the frame that turns with A, so that no rotation is left; then the norm if it waits.

    q_i . R(w (i - j)) k_j = (R(w i) q_i) . (R(w j) k_j): the only way to norm after the rotation per channel. The first
    position is not turned: with weights per channel the phase itself matters, and published models count from 0.
    """
    phase, pairing, rank = angle.cumsum(1) - angle[:, :1], spec.rotation.pairing, spec.erase.rank
    q, k, direction = vectors
    of_steps = phase.repeat_interleave(rank, dim=1)
    q, k = feature_maps.rotated(q, phase, pairing), feature_maps.rotated(k, of_steps, pairing)
    if direction is not None:
        direction = feature_maps.rotated(direction, of_steps, pairing)
    q, k = _normalised(spec, parameters, q, k)
    return q, k, direction


def _gain(spec: MixerSpec, raw: Raw) -> Float[Tensor, "batch steps num_heads width"] | None:
    if "gain" not in raw:
        return None
    low, high = spec.erase.gain
    return per_head(low + (high - low) * raw["gain"].sigmoid(), spec.heads.num_heads)


def _direction(spec: MixerSpec, raw: Raw) -> Float[Tensor, "batch steps num_heads n"] | None:
    if "direction" not in raw:
        return None
    w = raw["direction"]
    return per_head(w * torch.rsqrt(w.square().sum(-1, keepdim=True) + DIRECTION_EPS), spec.heads.num_heads)


def _second(spec: MixerSpec, parameters: Raw, k: Tensor) -> Tensor | None:
    if "second_logit" not in parameters:
        return None
    share = per_head(parameters["second_logit"].sigmoid()[None, None], spec.heads.num_heads)
    return share.unsqueeze(-1) * k


def _shear(spec: MixerSpec, raw: Raw, parameters: Raw) -> Float[Tensor, "#batch seq_len num_heads"] | None:
    sign = 1.0 if spec.shear.sign == "decreasing" else -1.0
    match spec.shear.source:
        case "none" | "table":
            return None
        case "constant":
            slopes = raw["v"].new_tensor(spec.shear.head_slopes(spec.heads.num_heads))
            return (-sign * slopes)[None, None].expand(-1, _seq_len(spec, raw), -1)
        case "input":
            return sign * F.logsigmoid(raw["shear"].squeeze(-1) + parameters["shear_bias"])


def _unit_gate(raw: Raw, name: str, num_heads: int) -> Tensor | None:
    return per_head(raw[name].sigmoid(), num_heads).squeeze(-1) if name in raw else None
