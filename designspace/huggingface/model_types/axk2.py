"""axk2: deepseek_v32 by code, with an output gate: sigmoid of a projection of the input and the compressed query.

Source: transformers 5.24, configuration_axk2 and modeling_axk2. The gate on the norms around it leaves the tuple.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.latent import IGNORES, INDEXER, Latent, indexed_stack
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=2048, layers=48, heads=32, inner=5120, vocab=163840, length=131072)
LATENT = Latent(rank=128, nope=64, rope=32, value=64, query_rank=384)
TOPK = 2048


def _stack(config: Config) -> Stack:
    config.note("output gate", "in code: sigmoid")
    return indexed_stack(config, DEFAULTS, LATENT, topk=TOPK, output_gate="sigmoid")


importer = Importer(
    _stack,
    ignores=IGNORES
    | INDEXER
    | {"gated_norm_rank": "of the norms around the sub-layers", "rope_interleave": "always interleaved in code"},
)
