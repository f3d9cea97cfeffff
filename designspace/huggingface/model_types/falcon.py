"""falcon: rotary attention, or ALiBi inside the score scale where `alibi` is true; few key/value heads.

Source: arXiv 2311.16867; transformers 5.24, modeling_falcon. The bias is added before the division by sqrt(head_dim).
Key/value heads: num_kv_heads in the new decoder architecture, else one if multi_query, else one per query head.
"""

from designspace.huggingface.alibi import slopes
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue, rope
from designspace.huggingface.plain import Plain, plain, plain_stack
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=4544, layers=32, heads=71, inner=18176, vocab=65024, length=2048)


def _stack(config: Config) -> Stack:
    found = falcon_sizes(config)
    mixer = falcon_mixer(config, found, kv_heads=_kv_heads(config, found.heads))
    return plain_stack(config, found, [mixer] * found.layers)


def falcon_sizes(config: Config) -> Plain:
    """Sizes under the newer names and the two older ones."""
    return plain(
        config,
        DEFAULTS,
        hidden=("hidden_size", "n_embed"),
        layers=("num_hidden_layers", "n_layer"),
        heads=("num_attention_heads", "n_head"),
        inner=("ffn_hidden_size",),
        fourfold=True,
    )


def falcon_mixer(config: Config, found: Plain, *, kv_heads: int) -> MixerSpec:
    """Rotary attention or scaled ALiBi."""
    heads = found.heads_of(kv_heads)
    if not config.flag("alibi", default=False):
        return from_catalogue("softmax_rope", heads=heads, rotation=rope(config, found.head_dim, DEFAULTS))
    for key in ("rope_theta", "rope_scaling", "rope_parameters"):
        config.optional(key)  # no rotation with ALiBi
    config.note("alibi", "in code: the slopes are divided by sqrt(head_dim) with the score")
    return from_catalogue("softmax_alibi", heads=heads, shear={"slopes": slopes(found.heads), "scaled": True})


def _kv_heads(config: Config, num_heads: int) -> int:
    multi_query = config.flag("multi_query", default=True)
    if config.flag("new_decoder_architecture", default=False):
        return config.integer("num_kv_heads", "n_head_kv", default=num_heads)
    given = config.integer("num_kv_heads", "n_head_kv", default=num_heads)
    kv_heads = 1 if multi_query else num_heads
    if given not in (kv_heads, num_heads):
        raise config.error(
            "num_kv_heads",
            f"`num_kv_heads: {given}` has no effect without `new_decoder_architecture`: there are {kv_heads}.",
        )
    return kv_heads


importer = Importer(
    _stack,
    ignores={
        "activation": "of the channel mixer",
        "apply_residual_connection_post_layernorm": "not read by the model code",
        "ff_factor": "of the channel mixer",
        "num_ln_in_parallel_attn": "of the norms around the sub-layers",
        "parallel_attn": "attention and channel mixer side by side or in turn: the mixer is the same",
    },
)
