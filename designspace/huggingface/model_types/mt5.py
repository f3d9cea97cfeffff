"""mt5: t5 by code, with a gated channel mixer. Source: arXiv 2010.11934; transformers 5.24, modeling_mt5."""

from designspace.huggingface.model_types.t5 import importer as importer
