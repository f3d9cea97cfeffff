"""phi4_multimodal: phi4mm under the name of transformers 5.24."""

from designspace.huggingface.model_types.phi4mm import importer as importer
