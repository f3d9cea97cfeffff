"""deepseek_ref: deepseek_v4 under another name. Source: config.json of sgl-project/DeepSeek-V4-Flash-FP8."""

from designspace.huggingface.model_types.deepseek_v4 import importer as importer
