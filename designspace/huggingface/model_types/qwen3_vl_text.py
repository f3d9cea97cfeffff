"""qwen3_vl_text: qwen3 without a window; a text token has one position in all three axes of the rotation.

Source: transformers 5.24, modeling_qwen3_vl.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(
    hidden=4096,
    layers=32,
    heads=32,
    kv_heads=32,
    head_dim=128,
    inner=22016,
    vocab=151936,
    length=128000,
    theta=500000.0,
)


def _stack(config: Config) -> Stack:
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    return llama_like(config, "softmax_qknorm", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
