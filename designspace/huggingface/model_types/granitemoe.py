"""granitemoe: granite with experts. Source: transformers 5.24, modeling_granitemoe."""

from designspace.huggingface.model_types.granite import importer as importer
