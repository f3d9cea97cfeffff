"""minimax_m3: minimax_m3_vl_text under the name that text-only files may have. Source: transformers 5.24."""

from designspace.huggingface.model_types.minimax_m3_vl_text import importer as importer
