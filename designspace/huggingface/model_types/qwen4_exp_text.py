"""qwen4_exp_text: Gated DeltaNet, and softmax over blocks of keys that an indexer picks. Source: transformers 5.24.

The files call the indexed layers indexed_attention, full_attention or qwen_sparse_attention. Hyper-connections and the
embeddings of n-grams stand around the mixers.
"""

from designspace.candidate import AnyMixer
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import DeltaDefaults, gated_delta, schedule
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.model_types.qwen3_next import IGNORES as QWEN3_NEXT
from designspace.huggingface.model_types.qwen3_next import INTERVAL, gated_attention
from designspace.huggingface.parts import Defaults, decoder, every, gated_mlp, one_expert
from designspace.mixer import MixerSpec
from designspace.outside import Outside

DEFAULTS = Defaults(hidden=2048, layers=40, heads=16, kv_heads=2, head_dim=256, inner=512, vocab=248320, length=32768)
DELTA = DeltaDefaults(key_heads=16, value_heads=32)
WORDS = {
    "linear_attention": "linear",
    **dict.fromkeys(("indexed_attention", "full_attention", "qwen_sparse_attention"), "indexed"),
}
GATES = ("silu", "sigmoid")
_STREAMS = "of the hyper-connections around the sub-layers, which the candidate does not have"
_NGRAMS = "of the n-gram embeddings"
IGNORES = {
    **QWEN3_NEXT,
    **dict.fromkeys(("hc_count", "hc_lowrank"), _STREAMS),
    **dict.fromkeys(
        (
            "heads_per_ngram",
            "make_ngram_vocab_size_divisible_by",
            "ngram_size",
            "ngram_vocab_size_base",
            "number_of_conv_states",
            "ple_conv_kernel_size",
            "ple_embed_dim",
            "ple_layer_ids",
            "split_ngram_parts",
        ),
        _NGRAMS,
    ),
    "seed": "of the hash of the n-grams",
}
INDEXER = ("indexer_n_heads", "indexer_kv_heads", "indexer_head_dim")


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    delta, indexed = _delta(config), _indexed(config, hidden)
    kinds = schedule(config, num_layers, known=WORDS)
    if kinds is None:
        interval = config.integer("full_attention_interval", default=INTERVAL)
        kinds = ["indexed" if last else "linear" for last in every(interval, num_layers)]
    one_expert(config)
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    mixers: list[AnyMixer | None] = [indexed if kind == "indexed" else delta for kind in kinds]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS, channel=channel)


def _delta(config: Config) -> MixerSpec:
    gate = config.text("output_gate_type", default="silu")
    if gate not in GATES:
        raise unsupported(config, "output_gate_type", gate)
    delta = gated_delta(config, DELTA)
    return delta.model_copy(update={"io": delta.io.model_copy(update={"gate": gate})})


def _indexed(config: Config, hidden: int) -> AnyMixer:
    """Softmax over the `indexer_budget` keys with the best index scores; without an indexer, over all."""
    dense = gated_attention(config, hidden, DEFAULTS)
    for key in INDEXER:
        config.optional(key)
    if not config.has("indexer_budget"):
        config.optional("indexer_budget")
        config.optional("indexer_compress_ratio")
        return dense
    budget, ratio = config.integer("indexer_budget"), config.integer("indexer_compress_ratio", default=1)
    reason = f"each query reads the {budget} keys that an indexer picks in blocks of {ratio}: top-k sparse support."
    return Outside(outside="sparse_support", reason=reason, nearest=dense)


importer = Importer(_stack, ignores=IGNORES)
