"""qwen2: as llama; a window only on the layers from max_window_layers on, if use_sliding_window is true.

Source: transformers 5.24, modeling_qwen2.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import QWEN_IGNORES, llama_like


def _stack(config: Config) -> Stack:
    config.note("bias on q, k, v", "in code: present; it leaves the tuple as it is")
    return llama_like(config, "softmax_rope")


importer = Importer(_stack, ignores=QWEN_IGNORES)
