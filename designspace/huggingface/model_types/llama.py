"""llama: rotary grouped-query attention, scale 1/sqrt(head_dim). Source: transformers 5.24, modeling_llama."""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import llama_like


def _stack(config: Config) -> Stack:
    return llama_like(config, "softmax_rope")


importer = Importer(_stack, ignores={"rms_norm_eps": "eps of the block norms"})
