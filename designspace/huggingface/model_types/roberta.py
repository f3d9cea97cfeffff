"""roberta: bert by code; its positions start at 2.

Source: arXiv 1907.11692; transformers 5.24, modeling_roberta.
"""

from designspace.huggingface.bidirectional import IGNORES, bert_like
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults

DEFAULTS = Defaults(hidden=768, layers=12, heads=12, inner=3072, vocab=50265, length=512)


def _stack(config: Config) -> Stack:
    return bert_like(config, DEFAULTS)


importer = Importer(_stack, ignores=IGNORES)
