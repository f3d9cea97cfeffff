"""forgetting_transformer: softmax with a forget gate, no rotation. Source: arXiv 2503.02130; fla-core 0.6.0,
layers/forgetting_attn.py.

The gate is one per query head. `window_size` bounds the cache, which the kernel of the forward pass does not follow.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    norm = {"norm": "rms_weighted", "gain_shared": False} if config.flag("qk_norm", default=False) else {}
    support = fla.window(config)
    if support["window"] is not None:
        config.approximate("window_size", "only the cache is bounded, the kernel reads all keys; here both are bounded")
    mixer = from_catalogue(
        "fox",
        heads=fla.attention_heads(config, hidden),
        features=norm,
        support=support,
        io={"gate": "sigmoid" if config.flag("use_output_gate", default=False) else "none"},
    )
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, has_length=False, hybrid=False)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
