"""granitemoehybrid: Mamba-2 and attention by `layer_types`. Source: transformers 5.24, modeling_granitemoehybrid.

The scale of the scores is `attention_multiplier` itself (class default 1: unscaled); keys rotate only if
`position_embedding_type` is "rope". `layer_types` of older files says mamba and attention.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    from_catalogue,
    gated_mlp,
    layer,
    model,
    rope,
)
from designspace.huggingface.selective import IGNORES, UNROTATED, hybrid_mamba2
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=1024, vocab=32000, length=2048)
NO_POSITIONS = (None, "nope")


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    attention = _attention(config, hidden)
    mamba = hybrid_mamba2(config, config.integer("mamba_expand", default=2) * hidden)
    channel = gated_mlp(config, hidden, "shared_intermediate_size", default=DEFAULTS.inner)
    config.note("experts", "the channel mixer stands for the shared expert")
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    kinds = schedule(config, num_layers)
    if kinds is None:
        config.note("layer_types", "the class default: every layer is Mamba-2")
    layers = [layer(attention if kind == "full" else mamba, channel) for kind in kinds or ["linear"] * num_layers]
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _attention(config: Config, hidden: int) -> MixerSpec:
    heads = attention_sizes(config, hidden, DEFAULTS)
    scaling = {"base": config.number("attention_multiplier", default=1.0)}
    position = config.optional("position_embedding_type")
    if position == "rope":
        rotation = rope(config, heads["state_dim"], DEFAULTS)
        return from_catalogue("softmax_rope", heads=heads, rotation=rotation, scaling=scaling)
    if position not in NO_POSITIONS:
        raise unsupported(config, "position_embedding_type", position)
    return from_catalogue("softmax_nope", heads=heads, scaling=scaling)


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        **UNROTATED,
        "embedding_multiplier": "scales the embedding",
        "init_method": "initialisation of weights a checkpoint replaces",
        "intermediate_size": "of the experts of the channel mixer",
        "logits_scaling": "scales the logits",
        "normalization_function": "the code always uses RMSNorm",
        "residual_multiplier": "scales what a layer adds to the residual stream",
    },
)
