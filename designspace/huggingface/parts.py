"""Parts that many model types share: attention from its sizes, rotary keys in all their spellings, channel mixers."""

from typing import Any

from designspace import catalogue
from designspace.candidate import Block, ChannelMixer, ModelSpec, Norm
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack, unsupported
from designspace.mixer import MixerSpec

QWEN_IGNORES = {
    "rms_norm_eps": "eps of the norms",
    "max_window_layers": "no window is in use",
    "use_sliding_window": "layer_types decides",
}
WINDOWED = ("sliding_attention", "local", "local_attention")


def from_catalogue(name: str, **fields: dict[str, Any]) -> MixerSpec:
    """The mixer of a catalogue entry with some keys of some fields replaced."""
    mixer = catalogue.get(name).candidate.blocks[0].mixer
    if not isinstance(mixer, MixerSpec):
        raise TypeError(f"catalogue:{name} holds no single mixer.")
    data = mixer.model_dump(mode="json")
    for field, values in fields.items():
        data[field] = {**data[field], **values}
    return MixerSpec.model_validate(data)


def sizes(num_heads: int, kv_heads: int, head_dim: int) -> dict[str, Any]:
    """`heads` of grouped-query attention."""
    return {
        "num_heads": num_heads,
        "state_dim": head_dim,
        "head_dim": head_dim,
        "kv_groups": kv_heads,
        "shared": "kv",
        "layout": "multi",
    }


def head_dim(config: Config, hidden: int, num_heads: int) -> int:
    """Width of a head: the key where the file holds it, else hidden / heads."""
    if config.optional("head_dim") is not None:
        return config.integer("head_dim")
    if hidden % num_heads:
        raise config.error("num_attention_heads", f"{num_heads} heads do not divide the hidden size {hidden}.")
    config.note("head_dim", f"hidden size / heads = {hidden // num_heads}")
    return hidden // num_heads


def attention_sizes(config: Config, hidden: int) -> dict[str, Any]:
    """`heads` from the keys that llama-like files share."""
    num_heads = config.integer("num_attention_heads")
    kv_heads = config.integer("num_key_value_heads", default=num_heads)
    return sizes(num_heads, kv_heads, head_dim(config, hidden, num_heads))


def rotary(config: Config, *, fraction: float = 1.0) -> dict[str, Any]:
    """`rotation` from rope_parameters, rope_theta, rope_scaling and partial_rotary_factor, whichever are present."""
    parameters = {**config.section("rope_scaling"), **config.section("rope_parameters")}
    theta = _rotary_number(config, parameters, "rope_theta", default=10000.0)
    partial = _rotary_number(config, parameters, "partial_rotary_factor", default=fraction)
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    if kind not in ("default", None):
        key = "rope_parameters" if config.section("rope_parameters") else "rope_scaling"
        config.approximate(key, f"the grammar has no `{kind}` scaling of the angles; the unscaled angles are used")
    return {"source": "constant", "theta": theta, "fraction": partial, "pairing": "half"}


def _rotary_number(config: Config, parameters: dict[str, Any], key: str, *, default: float) -> float:
    """`key` of the nested parameters; where they lack it, of the file."""
    if parameters.get(key) is None:
        return config.number(key, default=default)
    config.optional(key)
    return config.finite(key, parameters[key])


def swiglu(config: Config, hidden: int, *keys: str) -> ChannelMixer:
    """A gated channel mixer of the width in the file."""
    if config.text("hidden_act", default="silu") != "silu":
        raise unsupported(config, "hidden_act", config.optional("hidden_act"))
    return ChannelMixer(kind="swiglu", ratio=config.integer(*(keys or ("intermediate_size",))) / hidden)


def mlp(hidden: int, inner: int) -> ChannelMixer:
    """A plain two-layer channel mixer."""
    return ChannelMixer(kind="mlp", ratio=inner / hidden)


def rms_block(mixer: Any, channel_mixer: ChannelMixer) -> Block:
    """Pre-norm block with RMSNorm."""
    return Block(mixer=mixer, norm=Norm(kind="rms", placement="pre"), channel_mixer=channel_mixer)


def layer_block(mixer: Any, channel_mixer: ChannelMixer) -> Block:
    """Pre-norm block with LayerNorm."""
    return Block(mixer=mixer, norm=Norm(kind="layer", placement="pre"), channel_mixer=channel_mixer)


def model(config: Config, hidden: int, *, positions: str = "none", residual: str | None = None) -> ModelSpec:
    """Embedding sizes and the format of the residual stream (that of the checkpoint unless the code forces one)."""
    dtype = residual or config.dtype()
    return ModelSpec.model_validate(
        {
            "model_dim": hidden,
            "vocab_size": config.integer("vocab_size"),
            "positions": positions,
            "residual_dtype": dtype,
        }
    )


def layer_types(config: Config, num_layers: int) -> list[Any] | None:
    """The kind of each layer where the file names it."""
    types = config.items("layer_types")
    if types is not None and len(types) != num_layers:
        raise config.error("layer_types", f"`layer_types` names {len(types)} layers, the model has {num_layers}.")
    return types


def windows(config: Config, num_layers: int, *, always: bool) -> list[int | None]:
    """Window of each layer: layer_types where present; else `sliding_window` on every layer (`always`), or on the
    layers from max_window_layers on if use_sliding_window is true (Qwen).
    """
    window = config.optional("sliding_window")
    types = layer_types(config, num_layers)
    if types is not None:
        return [window if kind in WINDOWED else None for kind in types]
    if always:
        return [window] * num_layers
    if not config.flag("use_sliding_window", default=False):
        return [None] * num_layers
    first = config.integer("max_window_layers", default=num_layers)
    return [window if layer >= first else None for layer in range(num_layers)]


def llama_like(config: Config, mixer_name: str, *, always_windowed: bool = False) -> Stack:
    """A stack of rotary attention and SwiGLU under RMSNorm."""
    hidden = config.integer("hidden_size")
    num_layers = config.depth("num_hidden_layers")
    heads, rotation, channel = attention_sizes(config, hidden), rotary(config), swiglu(config, hidden)
    layers = [
        rms_block(from_catalogue(mixer_name, heads=heads, rotation=rotation, support={"window": window}), channel)
        for window in windows(config, num_layers, always=always_windowed)
    ]
    return Stack(layers, model(config, hidden), config.integer("max_position_embeddings"))
