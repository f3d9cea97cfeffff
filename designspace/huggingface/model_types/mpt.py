"""mpt: softmax attention with ALiBi, set up in the nested `attn_config`.

Source: transformers 5.24, modeling_mpt, and the files' own modeling_mpt (llm-foundry), which reads more of attn_config:
alibi, alibi_bias_max, qk_ln, rope and grouped queries. Without ALiBi and rotation, positions are learned.
"""

from dataclasses import replace
from typing import Any

from designspace.huggingface.alibi import mpt_slopes
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import Plain, plain, plain_stack
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=2048, layers=24, heads=16, inner=8192, vocab=50368, length=2048)
NORMED = {"norm": "layernorm", "eps_kind": "mean"}


def _stack(config: Config) -> Stack:
    found = plain(
        config,
        DEFAULTS,
        hidden=("d_model", "hidden_size"),
        layers=("n_layers", "num_hidden_layers"),
        heads=("n_heads", "num_attention_heads"),
        length=("max_seq_len", "max_position_embeddings"),
        fourfold=True,
    )
    attention = config.nested("attn_config")
    mixer = _mixer(attention, found)
    positioned = mixer.shear.source != "none" or mixer.rotation.source != "none"
    learned = config.flag("learned_pos_emb", default=True) and not positioned
    inner = config.integer("expansion_ratio", default=4) * found.hidden
    positions = "learned" if learned else "none"
    return plain_stack(config, replace(found, inner=inner), [mixer] * found.layers, positions=positions)


def _mixer(attention: Config, found: Plain) -> MixerSpec:
    """The mixer of an attn_config."""
    if attention.flag("prefix_lm", default=False):
        raise attention.error("prefix_lm", "`prefix_lm: true` reads the prefix in both directions; write a spec.")
    if attention.optional("clip_qkv") is not None:
        attention.approximate("clip_qkv", f"q, k and v are not clipped to {attention.number('clip_qkv'):g}")
    return from_catalogue(
        "softmax_alibi",
        heads=found.heads_of(_kv_heads(attention, found.heads)),
        scaling={"base": attention.number("softmax_scale", default=found.head_dim**-0.5)},
        features=_norm(attention),
        support={"window": _window(attention)},
        **_position(attention, found),
    )


def _kv_heads(attention: Config, num_heads: int) -> int:
    match kind := attention.text("attn_type", default="multihead_attention"):
        case "multihead_attention":
            return num_heads
        case "multiquery_attention":
            return 1
        case "grouped_query_attention":
            return attention.integer("kv_n_heads")
        case _:
            raise attention.error("attn_type", f"`attn_type: {kind}` is not known; write a spec for this model.")


def _norm(attention: Config) -> dict[str, Any]:
    """qk_ln: LayerNorm over all heads together; qk_gn: over each head."""
    over_all, per_head = (attention.flag(key, default=False) for key in ("qk_ln", "qk_gn"))
    if over_all:
        return {**NORMED, "norm_over": "all_heads"}
    return NORMED if per_head else {}


def _window(attention: Config) -> int | None:
    """sliding_window_size counts the keys before the query's own; -1 is no window."""
    size = attention.integer("sliding_window_size", default=-1, least=-1)
    return None if size < 0 else size + 1


def _position(attention: Config, found: Plain) -> dict[str, dict[str, Any]]:
    """shear and rotation: ALiBi unless switched off, else a rotation if there is one."""
    exponent = attention.number("alibi_bias_max", default=8)
    theta = attention.number("rope_theta", default=10000)
    rotates = attention.flag("rope", default=False)
    if attention.flag("alibi", default=True):
        if rotates:
            raise attention.error("rope", "`rope` and `alibi` are both true; the model code knows one of them.")
        return {"shear": {"slopes": mpt_slopes(found.heads, exponent)}}
    rotation = {"source": "constant", "theta": theta, "fraction": 1.0} if rotates else {}
    return {"shear": {"source": "none", "slopes": None}, "rotation": rotation}


importer = Importer(
    _stack,
    ignores={
        "attn_impl": "execution",
        "attn_uses_sequence_id": "packing of sequences in training",
        "dtype": "book-keeping of the framework",
        "embedding_fraction": "training only: gradient of the embedding",
        "emb_pdrop": "training only",
        "fc_type": "execution",
        "ffn_config": "of the channel mixer",
        "init_config": "training only: initialisation of weights a checkpoint replaces",
        "init_device": "execution",
        "model_type": "book-keeping of the framework",
        "no_bias": "a bias of the projections leaves the tuple as it is",
        "norm_type": "of the norms around the sub-layers",
        "rope_dail_config": "execution: settings of another implementation of the same rotation",
        "rope_impl": "execution",
        "tokenizer_name": "book-keeping of the framework",
        "verbose": "book-keeping of the framework",
    },
)
