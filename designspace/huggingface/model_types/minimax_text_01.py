"""minimax_text_01: minimax with the code of its authors, which read `postnorm`: without it the norms stand in front.

Source: modeling_minimax_text_01.py of MiniMaxAI/MiniMax-Text-01.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.minimax import DEFAULTS, IGNORES, lightning_stack


def _stack(config: Config) -> Stack:
    is_behind = config.flag("postnorm", default=False)
    return lightning_stack(config, DEFAULTS, placement="post" if is_behind else "pre")


importer = Importer(_stack, ignores=IGNORES, source="configuration_minimax_text_01.py of MiniMaxAI/MiniMax-Text-01")
