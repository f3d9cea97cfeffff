"""starcoder2: rotary attention between layer norms; `sliding_window` acts on every layer.

Source: transformers 5.24, starcoder2.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import ONE_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=3072, layers=30, heads=24, kv_heads=2, inner=12288, vocab=49152, length=4096)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS, is_windowed=True, norm="layer", is_gated=False)


importer = Importer(
    _stack,
    ignores={
        **ONE_WINDOW,
        "embedding_dropout": "training only",
        "attention_softmax_in_fp32": "execution",
        "scale_attention_softmax_in_fp32": "execution",
        "scale_attn_weights": "not read by the model code: scores are always scaled",
        "norm_type": "layer norm in code",
        "mlp_type": "not read by the model code",
    },
)
