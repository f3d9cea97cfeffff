"""chatglm (the second and third ChatGLM, GLM-4): half of the channels rotate, in interleaved pairs; grouped keys.

Source: modeling_chatglm of THUDM/chatglm3-6b and zai-org/glm-4-9b-chat: base 10000 times `rope_ratio`. The first
ChatGLM (`position_encoding_2d`) reads its prompt in both directions and is not imported.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.parts import Defaults, attention, gated_mlp, interleaved, layer, model, sizes

DEFAULTS = Defaults(hidden=4096, layers=28, heads=32, inner=13696, vocab=65024, length=2048)
DEFAULT_WIDTH = 128  # channels of a key
BASE = 10000.0


def _stack(config: Config) -> Stack:
    if config.flag("position_encoding_2d", default=False):
        raise unsupported(config, "position_encoding_2d", True)
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    interleaved(config)
    mixer = attention("softmax_partial_rope", _heads(config), _rotation(config))
    channel = gated_mlp(config, hidden, "ffn_hidden_size", default=DEFAULTS.inner)
    block = layer(mixer, channel, norm="rms" if config.flag("rmsnorm", default=True) else "layer")
    vocab = config.integer("padded_vocab_size", "vocab_size", default=DEFAULTS.vocab)
    embeddings = model(config, hidden, vocab=vocab)
    num_layers = config.depth("num_layers", "num_hidden_layers", default=DEFAULTS.layers)
    return Stack([block] * num_layers, embeddings, config.integer("seq_length", default=DEFAULTS.length))


def _heads(config: Config) -> dict[str, Any]:
    num_heads = config.integer("num_attention_heads", default=DEFAULTS.heads)
    groups = config.integer("multi_query_group_num", default=1)
    shares = config.flag("multi_query_attention", default=False)
    return sizes(num_heads, groups if shares else num_heads, config.integer("kv_channels", default=DEFAULT_WIDTH))


def _rotation(config: Config) -> dict[str, Any]:
    theta = BASE * config.number("rope_ratio", default=1.0)
    config.note("rotation", f"in code: theta = 10000 rope_ratio = {theta:g} on the first half of the channels")
    return {"source": "constant", "theta": theta, "fraction": 0.5, "pairing": "interleaved"}


importer = Importer(
    _stack,
    ignores={
        "add_bias_linear": "a bias of a projection leaves the tuple as it is",
        "add_qkv_bias": "a bias of a projection leaves the tuple as it is",
        "apply_query_key_layer_scaling": "execution: divides by the layer number, then multiplies by it",
        "apply_residual_connection_post_layernorm": "which stream feeds the skip; off in every released model",
        "attention_softmax_in_fp32": "execution",
        "bias_dropout_fusion": "execution",
        "fp32_residual_connection": "execution",
        "original_rope": "not read by the model code",
        "post_layer_norm": "the norm after the last layer",
        "pre_seq_len": "of prefix tuning",
        "prefix_projection": "of prefix tuning",
        "max_position_embeddings": "seq_length is the limit",
    },
)
