"""phi3: llama with a window on every layer and LongRoPE (`su` in older files), maybe on a share of the channels.

Source: transformers 5.24, modeling_phi3. The training length stands in `original_max_position_embeddings`.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import ONE_WINDOW, Defaults, llama_like

DEFAULTS = Defaults(hidden=3072, layers=32, heads=32, inner=8192, vocab=32064, length=4096)


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope", DEFAULTS, is_windowed=True)


importer = Importer(
    _stack,
    ignores={
        **ONE_WINDOW,
        "embd_layer": "of the embedding",
        "full_attn_mod": "not read by the model code",
        "interpolate_factor": "not read by the model code",
        "lm_head_bias": "outside the mixer",
    },
)
