"""qwen3_5_text: qwen3_next with dense channel mixers and other sizes. Source: transformers 5.24, modeling_qwen3_5."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.qwen3_next import IGNORES, delta_stack
from designspace.huggingface.parts import Defaults, gated_mlp

DEFAULTS = Defaults(hidden=4096, layers=32, heads=16, kv_heads=4, head_dim=256, inner=12288, vocab=248320, length=32768)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    return delta_stack(config, DEFAULTS, gated_mlp(config, hidden, default=DEFAULTS.inner))


importer = Importer(_stack, ignores=IGNORES)
