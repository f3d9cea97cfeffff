"""qwen2_vl: the text part of Qwen2-VL; released files hold its keys beside the others, newer ones in `text_config`.

Source: transformers 5.24, configuration_qwen2_vl.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.qwen2_vl_text import importer as text


def _stack(config: Config) -> Stack:
    return text.stack(config.nested("text_config") if config.has("text_config") else config)


OUTSIDE = (
    "vision_config image_token_id video_token_id vision_token_id vision_start_token_id vision_end_token_id model_type"
)
importer = Importer(_stack, ignores=dict.fromkeys(OUTSIDE.split(), "of the model around the text part"))
