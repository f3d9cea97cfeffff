"""yi: llama. Source: modeling_yi of the first revision of 01-ai/Yi-6B; later files say llama."""

from designspace.huggingface.model_types.llama import importer as importer
