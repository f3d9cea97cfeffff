"""ministral: mistral whose `layer_types` leave layers without a window. Source: transformers 5.24, ministral."""

from designspace.huggingface.model_types.mistral import importer as importer
