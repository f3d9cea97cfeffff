"""bitnet: llama with ternary weights and an RMS norm over all heads of the output, before its projection.

Source: transformers 5.24, modeling_bitnet (attn_sub_norm); arXiv 2402.17764. The weights leave the tuple as it is.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=2560, layers=30, heads=20, kv_heads=5, inner=6912, vocab=128256, length=2048, theta=500000.0)


def _stack(config: Config) -> Stack:
    config.note("output norm", "in code: weighted RMS over all heads before the output projection")
    return llama_like(config, "softmax_rope", DEFAULTS, io={"output_norm": "full_rms"})


importer = Importer(_stack, ignores=NO_WINDOW)
