"""qwen3_vl_moe_text: qwen3_vl_text with experts. Source: transformers 5.24, modeling_qwen3_vl_moe."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(
    hidden=2048, layers=24, heads=16, kv_heads=16, inner=5632, vocab=151936, length=128000, theta=500000.0
)


def _stack(config: Config) -> Stack:
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    one_expert(config)
    return llama_like(config, "softmax_qknorm", DEFAULTS)


importer = Importer(_stack, ignores=NO_WINDOW)
