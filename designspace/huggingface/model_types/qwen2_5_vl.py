"""qwen2_5_vl: qwen2_vl with another eye. Source: transformers 5.24, configuration_qwen2_5_vl."""

from designspace.huggingface.model_types.qwen2_vl import importer as importer
