"""zamba2: as zamba with Mamba-2, several shared attention blocks in turn, and an optional rotation.

Source: transformers 5.24, modeling_zamba2. The step is clamped from below at `time_step_min`; the shared blocks have
low-rank adapters per layer, which leave the tuple as it is.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import listed, schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.zamba import WORDS, serial_layers, shared_attention
from designspace.huggingface.parts import Defaults, from_catalogue, gated_mlp, model, rope
from designspace.huggingface.selective import (
    IGNORES,
    UNROTATED,
    floored_step,
    grouped_heads,
    mamba2_mixer,
    step_range,
)
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=2560, layers=54, heads=32, inner=10240, vocab=32000, length=4096)
LONG_CONTEXT = 16384
DEFAULT_STATE_HEADS = 8
HYBRIDS = (6, 12, 18, 24, 30, 36, 42, 47, 51)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    attention = _attention(config, hidden)
    channel = gated_mlp(config, hidden, default=4 * hidden)
    layers = serial_layers(config, _kinds(config), attention, _mamba2(config, hidden), channel)
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    if config.flag("use_long_context", default=False):
        seq_len = LONG_CONTEXT
        config.note("seq_len", "use_long_context sets the length to 16384")
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _attention(config: Config, hidden: int) -> MixerSpec:
    fields = shared_attention(config, hidden, DEFAULTS)
    if not config.flag("use_mem_rope", default=False):
        return from_catalogue("softmax_nope", **fields)
    rotation = rope(config, fields["heads"]["state_dim"], DEFAULTS)
    return from_catalogue("softmax_rope", rotation=rotation, **fields)


def _mamba2(config: Config, hidden: int) -> MixerSpec:
    inner = config.integer("mamba_expand", "expansion_factor", default=2) * hidden
    derived = inner // config.integer("mamba_headdim") if config.has("mamba_headdim") else DEFAULT_STATE_HEADS
    num_heads = config.integer("n_mamba_heads", default=max(derived, 1))
    if inner % num_heads:
        raise config.error("n_mamba_heads", f"`n_mamba_heads` must divide the inner width {inner}, got {num_heads}.")
    width = config.integer("mamba_headdim", default=inner // num_heads)
    if width * num_heads != inner:
        raise config.error("mamba_headdim", f"`mamba_headdim` must be {inner // num_heads}, inner width / heads.")
    heads = grouped_heads(
        config,
        num_heads=num_heads,
        head_dim=width,
        state_dim=config.integer("mamba_d_state", "state_size", default=64),
        groups=config.integer("mamba_ngroups", default=1),
        key="mamba_ngroups",
    )
    step = step_range(config)
    floored_step(config, step[0])
    return mamba2_mixer(heads, conv=config.integer("mamba_d_conv", "conv_dimension", default=4), step=step)


def _kinds(config: Config) -> list[str]:
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    kinds = schedule(config, num_layers, known=WORDS)
    hybrids = listed(config, "hybrid_layer_ids", num_layers)
    if kinds is None:
        hybrids = {index for index in HYBRIDS if index < num_layers} if hybrids is None else hybrids
        return ["hybrid" if index in hybrids else "linear" for index in range(num_layers)]
    if hybrids is not None and hybrids != {index for index, kind in enumerate(kinds) if kind == "hybrid"}:
        raise config.error("hybrid_layer_ids", "`hybrid_layer_ids` contradicts the list of layer types.")
    return kinds


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **dict.fromkeys(UNROTATED, "no key rotates: use_mem_rope is false"),
        "adapter_rank": "width of the adapters: parameters, not the tuple",
        "add_bias_linear": "a bias of the projections leaves the tuple as it is",
        "ft_lora": "adapters: weights, not the tuple",
        "ffn_hidden_size": "not read by the model code",
        "gated_linear_unit": "not read by the model code",
        "kv_channels": "not read by the model code",
        "lora_rank": "width of the adapters: parameters, not the tuple",
        "num_mem_blocks": "how many sets of weights the shared attention blocks have: parameters, not the tuple",
        "num_query_groups": "not read by the model code",
        "use_shared_attention_adapter": "parameters of the shared block, not the tuple",
        "use_shared_attention_lora": "parameters of the shared block, not the tuple",
        "use_shared_block_lora": "parameters of the shared block, not the tuple",
        "use_shared_mlp_adapter": "parameters of the shared block, not the tuple",
        "use_shared_mlp_lora": "parameters of the shared block, not the tuple",
        "sliding_window": "no window in the model code",
    },
)
