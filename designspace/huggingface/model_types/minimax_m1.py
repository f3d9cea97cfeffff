"""minimax_m1: minimax_text_01 under another name. Source: modeling_minimax_m1.py of MiniMaxAI/MiniMax-M1-80k."""

from designspace.huggingface.model_types.minimax_text_01 import importer as importer
