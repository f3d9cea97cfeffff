"""phimoe: mixtral between layer norms. Source: transformers 5.24, modeling_phimoe."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import ONE_WINDOW, Defaults, llama_like, one_expert

DEFAULTS = Defaults(
    hidden=4096, layers=32, heads=32, kv_heads=8, inner=6400, vocab=32064, length=4096 * 32, theta=1000000.0
)


def _stack(config: Config) -> Stack:
    one_expert(config)
    return llama_like(config, "softmax_rope", DEFAULTS, is_windowed=True, norm="layer")


importer = Importer(
    _stack, ignores={**ONE_WINDOW, "input_jitter_noise": "training only", "lm_head_bias": "outside the mixer"}
)
