"""hf_olmo: OLMo in its first format; later olmo. Source: allenai/OLMo, olmo/config.py and olmo/model.py.

Norms without weights, rotation of all channels by halves; `multi_query_attention` is one key for all heads. The width
of a gated channel mixer is half of mlp_ratio (or of `mlp_hidden_size`).
"""

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import Defaults, attention, clamped, head_dim, layer, mlp, model, rope, sizes

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=50257, length=1024)
OFF = ("alibi", "attention_layer_norm")  # in every released file
EXECUTION = "flash_attention init_device precision rope_full_precision"
TRAINING = "embedding_dropout init_cutoff_factor init_fn residual_dropout"
NORMS = "attention_layer_norm_with_affine bias_for_layer_norm layer_norm_type layer_norm_with_affine"
OTHER = {
    "activation_type": "of the channel mixer",
    "alibi_bias_max": "alibi is off",
    "block_group_size": "execution",
    "block_type": "attention, then channel mixer",
    "embedding_size": "the vocabulary, padded",
    "include_bias": "a bias of a projection leaves the tuple as it is",
    "scale_logits": "outside the mixer",
    "weight_tying": "outside the mixer; parameters are counted untied",
}


def _stack(config: Config) -> Stack:
    for key in OFF:
        if config.flag(key, default=False):
            raise unsupported(config, key, True)
    if not config.flag("rope", default=False):
        raise unsupported(config, "rope", False)
    clamped(config)
    hidden = config.integer("d_model", default=DEFAULTS.hidden)
    num_heads = config.integer("n_heads", default=DEFAULTS.heads)
    single = config.flag("multi_query_attention", default=False)
    kv_heads = config.integer("n_kv_heads", default=1 if single else num_heads)
    heads = sizes(num_heads, kv_heads, head_dim(config, hidden, num_heads))
    mixer = attention("softmax_rope", heads, rope(config, heads["state_dim"], DEFAULTS))
    num_layers = config.depth("n_layers", default=DEFAULTS.layers)
    seq_len = config.integer("max_sequence_length", default=DEFAULTS.length)
    block = layer(mixer, _channel(config, hidden), norm="layer")
    return Stack([block] * num_layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _channel(config: Config, hidden: int) -> ChannelMixer:
    ratio = config.integer("mlp_ratio", default=4)
    inner = config.integer("mlp_hidden_size", default=ratio * hidden)
    if config.text("activation_type", default="swiglu") == "swiglu":
        return ChannelMixer(kind="swiglu", ratio=inner / 2 / hidden)
    return mlp(hidden, inner)


importer = Importer(
    _stack,
    ignores={
        **OTHER,
        **dict.fromkeys(EXECUTION.split(), "execution"),
        **dict.fromkeys(TRAINING.split(), "training only"),
        **dict.fromkeys(NORMS.split(), "of the norms around the sub-layers"),
    },
    source="allenai/OLMo, ModelConfig",
)
