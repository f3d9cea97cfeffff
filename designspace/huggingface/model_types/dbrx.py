"""dbrx: llama between layer norms with experts, its attention keys in `attn_config`; q, k, v may be clamped.

Source: transformers 5.24, modeling_dbrx. The base of the angles is `attn_config.rope_theta`, as in the code of
databricks/dbrx-base (the class of 5.24 builds its angles from a rope_theta outside, which no released file holds).
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import attention, clamped, gated_mlp, head_dim, layer, model, one_expert, sizes
from designspace.huggingface.rope import rotary


def _stack(config: Config) -> Stack:
    hidden = config.integer("d_model", "hidden_size", default=2048)
    keys = config.nested("attn_config")
    num_heads = config.integer("n_heads", "num_attention_heads", default=16)
    heads = sizes(num_heads, keys.integer("kv_n_heads", default=1), head_dim(config, hidden, num_heads))
    clamped(keys)
    one_expert(config)
    block = layer(
        attention("softmax_rope", heads, _rotation(config, keys, heads["state_dim"])),
        gated_mlp(config.nested("ffn_config"), hidden, "ffn_hidden_size", default=3584),
        norm="layer",
    )
    num_layers = config.depth("n_layers", "num_hidden_layers", default=24)
    seq_len = config.integer("max_seq_len", "max_position_embeddings", default=2048)
    return Stack([block] * num_layers, model(config, hidden, vocab=32000), seq_len)


def _rotation(config: Config, keys: Config, width: int) -> dict[str, Any]:
    theta = keys.number("rope_theta", default=10000.0)
    rotation = rotary(config, width, theta=theta, length=2048)
    if keys.has("rope_theta") and rotation["theta"] != theta:
        raise keys.error("rope_theta", f"`attn_config.rope_theta` {theta:g} differs from the one outside; keep one.")
    return rotation


FFN = "moe_jitter_eps moe_loss_weight moe_num_experts moe_top_k moe_normalize_expert_weights ffn_act_fn"
importer = Importer(
    _stack,
    ignores={
        **{f"ffn_config.{key}": "routing of the channel mixer" for key in FFN.split()},
        "ffn_config.uniform_expert_assignment": "routing of the channel mixer",
        "ffn_config.hidden_size": "d_model counts",
        "attn_config.model_type": "book-keeping of the framework",
        "ffn_config.model_type": "book-keeping of the framework",
        "emb_pdrop": "training only",
        "num_key_value_heads": "attn_config.kv_n_heads counts",
    },
)
