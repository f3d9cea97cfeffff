"""minimax_m3_vl_text: grouped-query attention with q/k norm; sparse layers keep the best blocks of keys of each query.

Source: transformers 5.24, configuration_minimax_m3_vl and modeling_minimax_m3_vl. Files on the hub hold
sparse_attention_config {sparse_attention_freq, sparse_topk_blocks, sparse_block_size, ...}; without it and without
layer_types every layer is full. Half of the channels rotate.
"""

from designspace.candidate import AnyMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    decoder,
    from_catalogue,
    gated_mlp,
    layer_types,
    rope,
)
from designspace.mixer import MixerSpec
from designspace.outside import Outside

DEFAULTS = Defaults(
    hidden=6144,
    layers=60,
    heads=64,
    kv_heads=4,
    head_dim=128,
    inner=12288,
    vocab=200064,
    length=524288,
    theta=5_000_000.0,
)
FULL, SPARSE = "full_attention", "minimax_m3_sparse"
ROTARY_SHARE = 0.5
BLOCKS, BLOCK = 16, 128


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    rotation = rope(config, heads["state_dim"], DEFAULTS, fraction=ROTARY_SHARE)
    dense = from_catalogue("softmax_qknorm", heads=heads, rotation=rotation)
    if config.flag("attention_output_gate", default=False):
        raise config.error(
            "attention_output_gate", "`attention_output_gate` must be false: the model code has no gate."
        )
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    by_kind: dict[str, AnyMixer] = {FULL: dense, SPARSE: _sparse(config, dense)}
    kinds = _kinds(config, config.depth("num_hidden_layers", default=DEFAULTS.layers))
    channel = gated_mlp(config, hidden, "dense_intermediate_size", default=DEFAULTS.inner)
    return decoder(config, [by_kind[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


def _sparse(config: Config, dense: MixerSpec) -> Outside:
    older = config.nested("sparse_attention_config")
    blocks = older.integer("sparse_topk_blocks", default=config.integer("index_topk_blocks", default=BLOCKS))
    size = older.integer("sparse_block_size", default=config.integer("index_block_size", default=BLOCK))
    return Outside(
        outside="sparse_support",
        reason=f"a learned indexer keeps the {blocks} best blocks of {size} keys of each query: the support depends on"
        " scores.",
        nearest=dense,
    )


def _kinds(config: Config, num_layers: int) -> list[str]:
    types = layer_types(config, num_layers, known=(FULL, SPARSE))
    older = config.nested("sparse_attention_config").integers("sparse_attention_freq")
    if older is None:
        return types or [FULL] * num_layers
    found = [SPARSE if value else FULL for value in older]
    if len(found) != num_layers or types not in (None, found):
        raise config.error(
            "sparse_attention_config", f"`sparse_attention_freq` must name {num_layers} layers and agree with the file."
        )
    return found


importer = Importer(
    _stack,
    ignores={
        "index_head_dim": "of the indexer, which is outside the grammar",
        "index_local_blocks": "of the indexer, which is outside the grammar",
        "index_n_heads": "of the indexer, which is outside the grammar",
        "intermediate_size": "of the channel mixer of an expert",
        "mlp_layer_types": "routing of the channel mixer",
        "num_mtp_modules": "training only",
        "qk_norm_type": "per head in the model code",
        "shared_intermediate_size": "of the channel mixer",
        "sparse_disable_index_value": "of the indexer, which is outside the grammar",
        "sparse_index_dim": "of the indexer, which is outside the grammar",
        "sparse_init_block": "of the indexer, which is outside the grammar",
        "sparse_local_block": "of the indexer, which is outside the grammar",
        "sparse_num_index_heads": "of the indexer, which is outside the grammar",
        "sparse_score_type": "of the indexer, which is outside the grammar",
        "swiglu_alpha": "of the channel mixer",
        "swiglu_limit": "of the channel mixer",
        "use_gemma_norm": "of the norms: a weight of 1 + w",
        "use_qk_norm": "always normed in the model code",
        "use_routing_bias": "routing of the channel mixer",
        "use_sparse_attention": "sparse_attention_freq says which layers are",
    },
)
