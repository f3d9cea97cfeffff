"""minicpm3: multi-head latent attention with pairs (m, m + half); values as wide as hidden size / heads.

Source: transformers 5.24, modeling_minicpm3; openbmb/MiniCPM3-4B.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import Latent, equal_layers
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=2560, layers=62, heads=40, inner=6400, vocab=73448, length=32768)
LATENT = Latent(rank=256, nope=64, rope=32, value=None, query_rank=768)


def _stack(config: Config) -> Stack:
    return equal_layers(config, DEFAULTS, LATENT, pairing="half", experts=False)


importer = Importer(
    _stack,
    ignores={
        "dim_model_base": "scales the logits of the tokens",
        "scale_depth": "scales what each sub-layer adds to the residual stream",
        "scale_emb": "scales the embedding",
    },
)
