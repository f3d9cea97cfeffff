"""minimaxtext01: minimax_text_01 under the name of its class. Source: configuration_minimax_text_01.py of the hub."""

from designspace.huggingface.model_types.minimax_text_01 import importer as importer
