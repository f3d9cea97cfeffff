"""kimi_k2: deepseek_v3 with other sizes, which its files state. Source: arXiv 2507.20534; the files' own model code."""

from designspace.huggingface.model_types.deepseek_v3 import importer as importer
