"""qwen3: as qwen2 with a weighted RMS norm on q and k per head, before the rotation. No key of the file says so.

Source: transformers 5.24, modeling_qwen3.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import QWEN_IGNORES, llama_like


def _stack(config: Config) -> Stack:
    config.note("q/k norm", "in code: weighted RMS per head, before the rotation")
    return llama_like(config, "softmax_qknorm")


importer = Importer(_stack, ignores=QWEN_IGNORES)
