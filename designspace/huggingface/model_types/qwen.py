"""qwen (the first): llama with biases on q, k, v; longer sequences change base and queries.

Source: modeling_qwen of Qwen/Qwen-7B. `intermediate_size` counts both halves of the gated channel mixer. Beyond
`seq_length`, use_dynamic_ntk raises the base (alpha = 2^ceil(log2(length / seq_length) + 1) - 1, which is the dynamic
scaling of factor 2 at powers of two) and use_logn_attn multiplies query i by log(i) / log(seq_length).
"""

from typing import Any

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, rope, sizes

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=22016, vocab=151936, length=8192)
DEFAULT_WIDTH = 128  # channels of a key


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_heads = config.integer("num_attention_heads", default=DEFAULTS.heads)
    heads = sizes(num_heads, num_heads, config.integer("kv_channels", default=DEFAULT_WIDTH))
    mixer = attention("softmax_rope", heads, _rotation(config, heads["state_dim"]))
    inner = config.integer("intermediate_size", default=DEFAULTS.inner)
    channel = ChannelMixer(kind="swiglu", ratio=inner / 2 / hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    return decoder(config, [mixer] * num_layers, hidden=hidden, defaults=DEFAULTS, channel=channel)


def _rotation(config: Config, width: int) -> dict[str, Any]:
    rotation = rope(config, width, DEFAULTS)
    length = config.integer("seq_length", default=DEFAULTS.length)
    if config.flag("use_logn_attn", default=True):
        config.approximate("use_logn_attn", f"queries beyond {length} grow with log(i); the candidate's do not")
    if config.flag("use_dynamic_ntk", default=True):
        rotation["scaling"] = {"kind": "dynamic", "factor": 2.0, "original_length": length}
    return rotation


importer = Importer(
    _stack,
    ignores={
        "attn_dropout_prob": "training only",
        "emb_dropout_prob": "training only",
        "bf16": "execution",
        "fp16": "execution",
        "fp32": "execution",
        "no_bias": "a bias of a projection leaves the tuple as it is",
        "onnx_safe": "execution",
        "scale_attn_weights": "not read on the path of flash attention; true in every released model",
        "softmax_in_fp32": "execution",
        "use_cache_kernel": "execution",
        "use_cache_quantization": "execution",
    },
)
