"""camembert: xlm-roberta with other weights. Source: transformers 5.24, modeling_camembert: roberta by code."""

from designspace.huggingface.model_types.xlm_roberta import importer as importer
