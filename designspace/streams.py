"""What a mixer asks of tokens and parameters: names and shapes of all that `workers.realise` turns into signals.

The cost formulas read them too.

Sharing (`heads.kv_groups` = G streams): with `shared: kv` the streams of k, v, decay, rotation, erase, gate and lift
are G and those of q, shear, levels and log_eta one per head; with `shared: qk` those of q, k and the free erase
direction are G and all others one per head.
"""

from typing import NamedTuple

from designspace.mixer import MixerSpec
from designspace.recent import recent

VALUES = ("v", "v_gate")  # pre-activations of the values
LATENT = ("latent", "shared_key")  # what is projected in place of k and v
NUM_LEVELS = 21  # Fenwick levels of the longest sequence, 2^20 tokens (designspace.target.MAX_SEQ_LEN)


class RawShape(NamedTuple):
    """A token pre-activation [batch, seq_len * steps, heads, width]; `heads` counts distinct streams."""

    heads: int
    width: int
    steps: int = 1

    @property
    def channels(self) -> int:
        """Numbers per token: the width of its projection."""
        return self.heads * self.width * self.steps


class StreamCounts(NamedTuple):
    """Distinct streams of the queries, of the keys, and of what moves or writes the state."""

    query: int
    key: int
    value: int


@recent
def stream_counts(spec: MixerSpec) -> StreamCounts:
    """How many distinct streams the heads share."""
    heads, groups = spec.heads.num_heads, spec.heads.groups
    shares_queries = spec.heads.shared == "qk"
    return StreamCounts(
        query=groups if shares_queries else heads, key=groups, value=heads if shares_queries else groups
    )


def decay_slots(spec: MixerSpec) -> int:
    """Free decay factors per head: 1, or one per key channel where two channels of a rotating pair count once."""
    if spec.decay.granularity == "scalar":
        return 1
    return spec.key_dim - spec.rotation.pairs(spec.key_dim)


def shares_step(spec: MixerSpec) -> bool:
    """The decay is exp(-A dt) with the dt of the scaling gate (Mamba)."""
    return spec.scaling.gate == "dt" and spec.decay.reads_input


def raw_shapes(spec: MixerSpec) -> dict[str, RawShape]:
    """The token pre-activations a spec needs, by name, in a fixed order that starts with q, k, v."""
    return {
        **_feature_raws(spec),
        **_value_raws(spec),
        **_decay_raws(spec),
        **_erase_raws(spec),
        **_gate_raws(spec),
        **_score_raws(spec),
    }


def projections(spec: MixerSpec, *, borrows_values: bool = False) -> dict[str, RawShape]:
    """What is projected from a token: the pre-activations, or in place of k and v the latent vector they are made of
    and the key channels that bypass it (`heads.latent_dim`).

    Args:
        borrows_values: without the values, which another branch gives (`Parallel.shared_values`).
    """
    shapes, heads = raw_shapes(spec), spec.heads
    if borrows_values:
        shapes = {name: shape for name, shape in shapes.items() if name not in VALUES}
    if heads.latent_dim is None:
        return shapes
    made = {name: shape for name, shape in shapes.items() if name not in ("k", "v")}
    made["latent"] = RawShape(1, heads.latent_dim)
    if heads.shared_key_dim:
        made["shared_key"] = RawShape(1, heads.shared_key_dim)
    return made


def latent_widths(spec: MixerSpec) -> tuple[int, int]:
    """Channels of a key and of a value, per head, that are linear maps of the latent vector; (0, 0) without one."""
    heads = spec.heads
    return (0, 0) if heads.latent_dim is None else (heads.state_dim - heads.shared_key_dim, heads.head_dim)


def _feature_raws(spec: MixerSpec) -> dict[str, RawShape]:
    if spec.features.is_static:
        return {}
    count, rank, width = stream_counts(spec), spec.erase.rank, spec.heads.state_dim
    query, key = RawShape(count.query, width), RawShape(count.key, width, rank)
    match spec.features.map:
        case "one_minus_decay":
            return {"q": query}
        case "scaled_static":
            return {"q": RawShape(count.query, 1), "k": RawShape(count.key, 1, rank)}
        case "hadamard":
            return {"q": query, "k": key, "q_factor": query, "k_factor": key}
        case _:
            return {"q": query, "k": key}


def _value_raws(spec: MixerSpec) -> dict[str, RawShape]:
    value = RawShape(stream_counts(spec).value, spec.heads.head_dim, spec.erase.rank)
    return {"v": value, "v_gate": value} if spec.io.value_gate != "none" else {"v": value}


def _decay_raws(spec: MixerSpec) -> dict[str, RawShape]:
    found: dict[str, RawShape] = {}
    count = stream_counts(spec).value
    from_gate = spec.decay.map in ("complement", "one_minus_bk2") or shares_step(spec)
    if spec.decay.reads_input and not from_gate:
        found["decay"] = RawShape(count, decay_slots(spec))
        if spec.decay.map == "ratio":
            found["decay_input"] = found["decay"]
        if spec.decay.map == "exp_softplus_tau":
            found["decay_power"] = found["decay"]
    if spec.rotation.source == "input" and not spec.rotation.is_identity:
        found["angle"] = RawShape(count, spec.rotation.pairs(spec.key_dim))
    return found


def _erase_raws(spec: MixerSpec) -> dict[str, RawShape]:
    erase, count = spec.erase, stream_counts(spec)
    if erase.direction == "none":
        return {}
    found = {"gain": RawShape(count.value, spec.key_dim if erase.per_channel else 1, erase.rank)}
    if erase.direction == "free":
        found["direction"] = RawShape(count.key, spec.key_dim, erase.rank)
    return found


def _gate_raws(spec: MixerSpec) -> dict[str, RawShape]:
    count = stream_counts(spec).value
    found: dict[str, RawShape] = {}
    match spec.scaling.gate:
        case "sigmoid" | "two_sigmoid" | "exp" | "dt":
            found["gate"] = RawShape(count, 1, spec.erase.rank)
        case "exp_key":
            found["key_logit"] = RawShape(count, 1, spec.erase.rank)
        case "none" | "complement" | "sqrt_1_minus_a2" | "tied_to_erase" | "step_power" | "index":
            pass
    match spec.lift.kind:
        case "delay1":
            found["tap"] = RawShape(count, 1)
        case "momentum":
            found["momentum"] = found["rate"] = RawShape(count, 1)
        case "none" | "shift" | "fenwick":
            pass
    return found


def _score_raws(spec: MixerSpec) -> dict[str, RawShape]:
    heads = spec.heads.num_heads
    found: dict[str, RawShape] = {}
    if spec.shear.source == "input":
        found["shear"] = RawShape(heads, 1)
    if spec.lift.kind == "fenwick":
        found["levels"] = RawShape(heads, NUM_LEVELS)
    if spec.normalization.kind == "learned":
        found["log_eta"] = RawShape(heads, 1)
    return found


def convolved(spec: MixerSpec, *, borrows_values: bool = False) -> tuple[str, ...]:
    """Names of what passes the short convolution; k and v that are made of a latent vector pass it as that vector."""
    on: tuple[str, ...] = spec.io.short_conv.on
    if not on:
        return ()
    if spec.heads.latent_dim is not None and "k" in on:
        on = (*on, *LATENT)
    return tuple(name for name in projections(spec, borrows_values=borrows_values) if name in on)


def parameter_shapes(spec: MixerSpec) -> dict[str, tuple[int, ...]]:
    """The parameters that enter the signals, by name. None of them takes weight decay."""
    return {**_feature_parameters(spec), **_evolution_parameters(spec), **_readout_parameters(spec)}


def _feature_parameters(spec: MixerSpec) -> dict[str, tuple[int, ...]]:
    count, features = stream_counts(spec), spec.features
    found: dict[str, tuple[int, ...]] = {}
    if features.map in ("static", "scaled_static"):
        found["q_static"] = (count.query, spec.heads.state_dim)
        found["k_static"] = (count.key, spec.heads.state_dim)
    if features.norm_has_gain:
        shared = features.gain_shared and features.norm_over == "head"
        if features.norm_on == "qk":
            found["q_gain"] = (spec.key_dim,) if shared else (count.query, spec.key_dim)
        found["k_gain"] = (spec.key_dim,) if shared else (count.key, spec.key_dim)
    return found


def _evolution_parameters(spec: MixerSpec) -> dict[str, tuple[int, ...]]:
    decay, count = spec.decay, stream_counts(spec).value
    found: dict[str, tuple[int, ...]] = {}
    if decay.granularity != "none" and decay.source != "constant":
        shape = (count, decay_slots(spec))
        if decay.map in ("exp_softplus", "rglru"):
            found["decay_rate"] = shape
        if decay.map not in ("complement", "one_minus_bk2") and not shares_step(spec):
            found["decay_bias"] = shape
        if decay.map == "ratio":
            found["decay_input_bias"] = shape
        if decay.map == "exp_softplus_tau":
            found["decay_power_bias"] = shape
    if spec.rotation.source == "learned" and not spec.rotation.is_identity:
        found["angle"] = (count, spec.rotation.pairs(spec.key_dim))
    if spec.erase.direction == "key_scaled":
        found["second_logit"] = (count,)
    if spec.lift.width is not None:
        found["taps"] = (spec.heads.num_heads, spec.key_dim, spec.lift.width)
    if spec.scaling.gate in ("sigmoid", "two_sigmoid", "exp", "exp_key", "dt"):
        found["gate_bias"] = (count,)
    return found


def _readout_parameters(spec: MixerSpec) -> dict[str, tuple[int, ...]]:
    heads = spec.heads.num_heads
    found: dict[str, tuple[int, ...]] = {}
    if spec.scaling.learnable:
        found["base"] = (heads,)
    if spec.shear.source == "input":
        found["shear_bias"] = (heads,)
    if spec.shear.width is not None:
        found["table"] = (heads, spec.shear.width)
    if spec.support.diagonal == "bonus":
        found["bonus"] = (heads, spec.key_dim)
    if spec.support.diagonal == "D":
        found["skip"] = (heads,)
    if spec.normalization.kind == "sum_with_sink":
        found["sink"] = (heads,)
    return found
