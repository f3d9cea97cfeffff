"""electra: bert by code, with an embedding of `embedding_size` that is projected to hidden_size.

Source: arXiv 2003.10555; transformers 5.24, modeling_electra.
"""

from designspace.huggingface.bidirectional import IGNORES, bert_like
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=256, layers=12, heads=4, inner=1024, vocab=30522, length=512)


def _stack(config: Config) -> Stack:
    return bert_like(config, DEFAULTS)


importer = Importer(_stack, ignores=IGNORES | {"embedding_size": "width of the embedding, projected to hidden_size"})
