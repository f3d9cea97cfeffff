"""phi: half of the channels rotate; layer norm per head on q and k if `qk_layernorm`; biases in code.

Source: transformers 5.24, modeling_phi.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=2048, layers=24, heads=32, inner=8192, vocab=51200, length=2048)
NORM = {"norm": "layernorm", "eps_kind": "mean"}


def _stack(config: Config) -> Stack:
    config.note("parallel", "in code: x + attention(norm(x)) + mlp(norm(x)); the candidate has one after the other")
    features: dict[str, Any] = NORM if config.flag("qk_layernorm", default=False) else {}
    return llama_like(
        config,
        "softmax_partial_rope",
        DEFAULTS,
        fraction=0.5,
        norm="layer",
        is_gated=False,
        features=features,
    )


importer = Importer(_stack, ignores=NO_WINDOW)
