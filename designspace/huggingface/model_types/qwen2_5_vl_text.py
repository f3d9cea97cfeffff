"""qwen2_5_vl_text: qwen2_vl_text. Source: transformers 5.24, modeling_qwen2_5_vl."""

from designspace.huggingface.model_types.qwen2_vl_text import importer as importer
