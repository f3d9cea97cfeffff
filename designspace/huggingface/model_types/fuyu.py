"""fuyu: persimmon, to which patches of images are tokens; the files of the hub hold its keys beside theirs.

Source: transformers 5.24, configuration_fuyu (flat files become a persimmon text part).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.persimmon import importer as persimmon


def _stack(config: Config) -> Stack:
    return persimmon.stack(config.nested("text_config") if config.has("text_config") else config)


importer = Importer(
    _stack,
    ignores={
        **persimmon.ignores,
        **dict.fromkeys(("image_size", "image_token_id", "num_channels", "patch_size"), "of the images"),
        "model_type": "persimmon, which the code builds whatever the file says",
        "text_model_type": "says persimmon, which is what the code builds",
    },
)
