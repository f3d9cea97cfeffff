"""phi4mm: phi3 with image and audio parts in front, whose adapters change weights only.

Source: modeling_phi4mm of microsoft/Phi-4-multimodal-instruct; transformers 5.24, phi4_multimodal.
"""

from designspace.huggingface.importer import Importer
from designspace.huggingface.model_types.phi3 import importer as phi3

OUTSIDE = "audio_config audio_processor audio_token_id embd_layer image_token_id img_processor vision_config"
importer = Importer(
    phi3.stack,
    ignores={
        **phi3.ignores,
        **dict.fromkeys(OUTSIDE.split(), "of the model around the text part"),
        "speech_lora": "adapters: weights, not the tuple",
        "vision_lora": "adapters: weights, not the tuple",
    },
)
