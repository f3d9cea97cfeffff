"""qwen3_5_moe_text: qwen3_5_text with experts in every layer. Source: transformers 5.24, modeling_qwen3_5_moe."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.qwen3_next import IGNORES, delta_stack
from designspace.huggingface.parts import Defaults, gated_mlp

DEFAULTS = Defaults(hidden=2048, layers=40, heads=16, kv_heads=2, head_dim=256, inner=512, vocab=248320, length=32768)


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    config.note("experts", "the channel mixer stands for one expert")
    return delta_stack(config, DEFAULTS, gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner))


importer = Importer(
    _stack, ignores={**IGNORES, "intermediate_size": "not read by the model code: every layer has experts"}
)
