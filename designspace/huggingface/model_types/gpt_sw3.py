"""gpt_sw3: gpt2 with a tokenizer of its own. Source: transformers 5.24, where gpt-sw3 maps to the classes of gpt2."""

from designspace.huggingface.model_types.gpt2 import importer as importer
