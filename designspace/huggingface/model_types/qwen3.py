"""qwen3: weighted RMS per head on q and k before the rotation, which no key says; otherwise as qwen2.

Source: transformers 5.24, modeling_qwen3.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.qwen2 import qwen_stack
from designspace.huggingface.parts import Defaults, stated

DEFAULTS = Defaults(
    hidden=4096, layers=32, heads=32, kv_heads=32, head_dim=128, inner=22016, vocab=151936, length=32768
)


def _stack(config: Config) -> Stack:
    always_normed(config)
    return qwen_stack(config, "softmax_qknorm", DEFAULTS)


def always_normed(config: Config) -> None:
    """Record the norm of q and k, which the class does not let a file switch off."""
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    stated(config, "use_qk_norm", True, why="q and k are always normed")


importer = Importer(_stack, ignores={})
