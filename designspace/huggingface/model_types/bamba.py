"""bamba: Mamba-2 layers, and rotary attention at `attn_layer_indices`. Source: transformers 5.24, modeling_bamba.

Half of the channels of a key rotate whatever the file says (configuration_bamba sets partial_rotary_factor 0.5).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import listed, schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    from_catalogue,
    gated_mlp,
    layer,
    model,
    rope,
)
from designspace.huggingface.selective import IGNORES, hybrid_mamba2

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=128000, length=262_144)
ROTATED = 0.5


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    rotation = rope(config, heads["state_dim"], DEFAULTS, fraction=ROTATED)
    for key, rotated in (("attn_rotary_emb", ROTATED * heads["state_dim"]), ("partial_rotary_factor", ROTATED)):
        if config.has(key) and config.number(key) != rotated:
            raise config.error(key, f"the code rotates half of a key: `{key}` must be {rotated:g}.")
    attention = from_catalogue("softmax_partial_rope", heads=heads, rotation=rotation)
    mamba = hybrid_mamba2(config, config.integer("mamba_expand", default=2) * hidden)
    channel = gated_mlp(config, hidden, default=DEFAULTS.inner)
    layers = [layer(attention if full else mamba, channel) for full in _is_full(config)]
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _is_full(config: Config) -> list[bool]:
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    full = listed(config, "attn_layer_indices", num_layers)
    kinds = schedule(config, num_layers)
    if full is None:
        return [kind == "full" for kind in kinds or ["linear"] * num_layers]
    if kinds is not None and {index for index, kind in enumerate(kinds) if kind == "full"} != full:
        raise config.error("attn_layer_indices", "`attn_layer_indices` contradicts the list of layer types.")
    return [index in full for index in range(num_layers)]


importer = Importer(_stack, ignores={**IGNORES, "z_loss_coefficient": "training only"})
