"""bailing_moe_v2: Ling 2.0; half of the channels rotate, weighted RMS per head on q and k before the rotation.

Source: modeling_bailing_moe_v2 of inclusionAI/Ling-V2 (`use_qk_norm`, `partial_rotary_factor`; pairs by halves).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.bailing_moe import IGNORES, bailing_stack
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=2048, layers=20, heads=16, kv_heads=4, inner=5120, vocab=157184, length=32768)


def _stack(config: Config) -> Stack:
    return bailing_stack(config, DEFAULTS)


importer = Importer(_stack, ignores=IGNORES, source="modeling_bailing_moe_v2")
