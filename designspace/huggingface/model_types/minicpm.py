"""minicpm: llama with scaled embedding and residual stream; MiniCPM 4.1 adds block-sparse attention (`sparse_config`).

Source: modeling_minicpm of openbmb/MiniCPM-2B-sft-bf16 and openbmb/MiniCPM4.1-8B (InfLLM v2).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, rope, trunk
from designspace.mixer import MixerSpec
from designspace.outside import Outside

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=32000, length=2048)


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    dense = attention("softmax_rope", heads, rope(config, heads["state_dim"], DEFAULTS))
    mixer = _sparse(config, dense) if config.has("sparse_config") else dense
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS)


def _sparse(config: Config, dense: MixerSpec) -> Outside:
    keys = config.nested("sparse_config")
    blocks, size = keys.integer("topk", default=64), keys.integer("block_size", default=64)
    first = keys.integer("dense_len", default=8192)
    reason = f"sparse support: beyond {first} tokens each query keeps topk={blocks} blocks of {size} keys"
    return Outside(outside="sparse_support", reason=reason, nearest=dense)


SPARSE = "kernel_size kernel_stride init_blocks window_size use_nope"
importer = Importer(
    _stack,
    ignores={
        **{
            f"sparse_config.{key}": "of the selection of blocks, which is outside the grammar" for key in SPARSE.split()
        },
        "scale_emb": "scales the embedding",
        "scale_depth": "scales what a sub-layer adds to the residual stream",
        "dim_model_base": "scales the logits of the vocabulary",
        "mup_denominator": "scales the residual stream",
        "sparse_config": "null: dense attention",
    },
)
