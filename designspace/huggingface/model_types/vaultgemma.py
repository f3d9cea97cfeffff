"""vaultgemma: gemma2 without the norms after the sub-layers, which are outside the tuple.

Source: transformers 5.24, modeling_vaultgemma.
"""

from designspace.huggingface.model_types.gemma2 import importer as importer
