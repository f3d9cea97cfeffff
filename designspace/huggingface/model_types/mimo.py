"""mimo: qwen2 with layers that predict further tokens, which are left out.

Source: modeling_mimo of XiaomiMiMo/MiMo-7B-Base, whose classes extend those of qwen2.
"""

from designspace.huggingface.model_types.qwen2 import importer as importer
