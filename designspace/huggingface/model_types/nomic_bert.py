"""nomic_bert: rotary post-norm encoder with a gated channel mixer and theta 1000; causal only with `causal: true`.

Source: arXiv 2402.01613; transformers 5.24, modeling_nomic_bert; the first files' own code says n_embd, n_head,
rotary_emb_base, rotary_emb_fraction and so on.
"""

from typing import Any

from designspace.candidate import ChannelMixer
from designspace.huggingface.bidirectional import IGNORES, both_ways, is_decoder, post_norm_stack
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import plain
from designspace.huggingface.rope import rotary

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=30528, length=2048, theta=1000.0)


def _stack(config: Config) -> Stack:
    found = plain(
        config,
        DEFAULTS,
        hidden=("hidden_size", "n_embd"),
        layers=("num_hidden_layers", "n_layer"),
        heads=("num_attention_heads", "n_head"),
        inner=("intermediate_size", "n_inner"),
        length=("max_position_embeddings", "n_positions"),
    )
    mixer = from_catalogue("softmax_rope", heads=found.heads_of(), rotation=_rotation(config, found.head_dim))
    causal = config.flag("causal", default=False) or is_decoder(config)
    channel = ChannelMixer(kind="swiglu", ratio=found.inner / found.hidden)
    mixers = [mixer if causal else both_ways(mixer)] * found.layers
    return post_norm_stack(config, found, mixers, positions="none", channel=channel)


def _rotation(config: Config, head_dim: int) -> dict[str, Any]:
    fraction = config.number("rotary_emb_fraction", default=1.0)
    interleaved = config.flag("rotary_emb_interleaved", default=False)
    rotation = rotary(
        config,
        head_dim,
        fraction=fraction,
        theta=DEFAULTS.theta,
        pairing="interleaved" if interleaved else "half",
    )
    if config.has("rotary_scaling_factor"):
        config.approximate("rotary_scaling_factor", "angles are those of sequences up to the length of training")
        config.number("rotary_scaling_factor")
    if config.has("rotary_emb_scale_base"):
        raise config.error("rotary_emb_scale_base", "`rotary_emb_scale_base` (xPos) decays keys; write a spec.")
    return rotation


importer = Importer(
    _stack,
    ignores=IGNORES
    | {
        "dense_seq_output": "which outputs are returned",
        "fused_bias_fc": "execution",
        "fused_dropout_add_ln": "execution",
        "last_layer_subset": "execution",
        "max_trained_positions": "the length of training: where the angles begin to stretch",
        "mlp_fc1_bias": "a bias of the channel mixer",
        "mlp_fc2_bias": "a bias of the channel mixer",
        "parallel_block": "attention and channel mixer side by side or in turn: the mixer is the same",
        "parallel_block_tied_norm": "of the norms around the sub-layers",
        "prenorm": "of the norms around the sub-layers",
        "qkv_proj_bias": "a bias of the projections leaves the tuple as it is",
        "reorder_and_upcast_attn": "not read by the model code",
        "rotary_emb_scale_base": "null: no xPos",
        "rotary_scaling_factor": "null: angles as they are",
        "scale_attn_by_inverse_layer_idx": "not read by the model code",
        "scale_attn_weights": "not read by the model code: it always divides by sqrt(head_dim)",
        "use_rms_norm": "of the norms around the sub-layers",
        "use_xentropy": "training only",
    },
)
