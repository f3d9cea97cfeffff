"""cohere: interleaved pairs, attention and channel mixer in parallel, layer norm per head on q and k if `use_qk_norm`.

Source: transformers 5.24, modeling_cohere; each head has a norm weight of its own.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import NO_WINDOW, Defaults, interleaved, llama_like

DEFAULTS = Defaults(hidden=8192, layers=40, heads=64, inner=22528, vocab=256000, length=8192, theta=500000.0)
NORM = {"norm": "layernorm", "eps_kind": "mean", "gain_shared": False}


def _stack(config: Config) -> Stack:
    interleaved(config)
    config.note("parallel", "in code: x + attention(norm(x)) + mlp(norm(x)); the candidate has one after the other")
    features: dict[str, Any] = NORM if config.flag("use_qk_norm", default=False) else {}
    return llama_like(config, "softmax_rope", DEFAULTS, pairing="interleaved", norm="layer", features=features)


importer = Importer(_stack, ignores=NO_WINDOW)
