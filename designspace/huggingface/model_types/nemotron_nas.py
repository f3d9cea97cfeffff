"""nemotron_nas: llama whose layers were pruned one by one; `block_configs` says what is left of each.

Source: modeling_decilm of nvidia/Llama-3_3-Nemotron-Super-49B-v1. A layer without attention passes its input on
(`no_op`) or through one matrix (`replace_with_linear`): neither mixes tokens. `n_heads_in_group` query heads share a
key; the channel mixer is 2/3 `ffn_mult` times as wide as the model, rounded up to a multiple of 256.
"""

from designspace.candidate import Block, ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import Defaults, attention, head_dim, layer, model, rope, sizes
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=8192, layers=80, heads=64, inner=28672, vocab=128256, length=131072)
GATED_SHARE, MULTIPLE = 2 / 3, 256
SPARSE = ("num_sink_tokens", "sparsify", "window_length")  # null in every released file
REPLACED = ("no_op", "replace_with_linear")


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    blocks = config.objects("block_configs")
    if len(blocks) != num_layers:
        raise config.error("block_configs", f"`block_configs` names {len(blocks)} layers, the model has {num_layers}.")
    config.optional("num_key_value_heads")
    config.optional("intermediate_size")
    layers = [_layer(config, block, hidden) for block in blocks]
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _layer(config: Config, block: Config, hidden: int) -> Block:
    return layer(_mixer(config, block.nested("attention"), hidden), _channel(block.nested("ffn"), hidden))


def _mixer(config: Config, keys: Config, hidden: int) -> MixerSpec | None:
    """The attention of one layer; None where none is left."""
    if _is_replaced(keys):
        keys.optional("n_heads_in_group")
        return None
    for key in SPARSE:
        if keys.optional(key) is not None:
            raise unsupported(keys, key, keys.data[key])
    num_heads = config.integer("num_attention_heads", default=DEFAULTS.heads)
    group = keys.integer("n_heads_in_group")
    if num_heads % group:
        raise keys.error("n_heads_in_group", f"`n_heads_in_group` must divide {num_heads}, got {group}.")
    heads = sizes(num_heads, num_heads // group, head_dim(config, hidden, num_heads))
    return attention("softmax_rope", heads, rope(config, heads["state_dim"], DEFAULTS))


def _is_replaced(keys: Config) -> bool:
    """Nothing, or one matrix, stands in the place of this sub-layer; both keys are read."""
    return True in {keys.flag(key, default=False) for key in REPLACED}


def _channel(keys: Config, hidden: int) -> ChannelMixer:
    """The channel mixer of one layer."""
    if _is_replaced(keys):
        keys.optional("ffn_mult")
        return ChannelMixer(kind="none")
    width = int(GATED_SHARE * keys.number("ffn_mult") * hidden)
    return ChannelMixer(kind="swiglu", ratio=-(-width // MULTIPLE) * MULTIPLE / hidden)


importer = Importer(
    _stack,
    ignores={
        "sparsify": "no part of the channel mixer is left out",
        "unshifted_sink": "without sink tokens it has no effect",
        "use_prefill_window_in_sink_attention": "without sink tokens it has no effect",
    },
    source="modeling_decilm",
)
