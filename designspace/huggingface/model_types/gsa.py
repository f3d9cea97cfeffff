"""gsa: gated slot attention, ABC with a forget gate. Source: arXiv 2409.07146; fla-core 0.6.0, layers/gsa.py.

Not in the grammar for the reason given in abc.py; keys are as wide as values by default.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.abc import importer as bounded
from designspace.huggingface.model_types.abc import slot_stack


def _stack(config: Config) -> Stack:
    return slot_stack(config, expand_k=1.0)


importer = Importer(_stack, ignores=bounded.ignores, source=fla.SOURCE)
