"""stablelm: a quarter of the channels rotates; layer norm on q and k with a weight per head if `qk_layernorm`.

Source: transformers 5.24, modeling_stablelm.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=2560, layers=32, heads=32, kv_heads=32, inner=6912, vocab=50304, length=4096)
NORM = {"norm": "layernorm", "eps_kind": "mean", "gain_shared": False}


def _stack(config: Config) -> Stack:
    features: dict[str, Any] = NORM if config.flag("qk_layernorm", default=False) else {}
    return llama_like(
        config,
        "softmax_partial_rope",
        DEFAULTS,
        fraction=0.25,
        norm="layer",
        features=features,
    )


importer = Importer(
    _stack,
    ignores={
        **NO_WINDOW,
        "use_parallel_residual": "the channel mixer may stand beside the attention; does not bear on the tuple",
    },
)
