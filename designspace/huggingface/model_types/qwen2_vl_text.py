"""qwen2_vl_text: qwen2 with larger defaults; a text token has one position in all three axes of the rotation.

Source: transformers 5.24, modeling_qwen2_vl.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.qwen2 import qwen_stack
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(
    hidden=8192, layers=80, heads=64, kv_heads=8, inner=29568, vocab=152064, length=32768, theta=1000000.0
)
FIRST_WINDOWED = 80  # layer


def _stack(config: Config) -> Stack:
    return qwen_stack(config, "softmax_rope", DEFAULTS, first_windowed=FIRST_WINDOWED)


importer = Importer(_stack, ignores={})
