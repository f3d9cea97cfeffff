"""baichuan: the 7B model is llama, the 13B model has ALiBi and no rotation.

Source: modeling_baichuan of baichuan-inc/Baichuan2-7B-Base and Baichuan2-13B-Base. No key tells them apart but the
length: `max_position_embeddings` in the 7B files, `model_max_length` alone in the 13B files.
"""

from designspace.huggingface.alibi import slopes
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    NO_WINDOW,
    Defaults,
    from_catalogue,
    gated_mlp,
    layer,
    llama_like,
    model,
    trunk,
)

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, inner=11008, vocab=125696, length=4096)
DEFAULTS_13B = Defaults(hidden=5120, layers=40, heads=40, inner=13696, vocab=125696, length=4096)


def _stack(config: Config) -> Stack:
    if config.has("max_position_embeddings") or not config.has("model_max_length"):
        return llama_like(config, "softmax_rope", DEFAULTS)
    config.note("position", "in code: ALiBi; `model_max_length` without max_position_embeddings marks the 13B model")
    hidden, num_layers, heads = trunk(config, DEFAULTS_13B)
    mixer = from_catalogue("softmax_alibi", heads=heads, shear={"slopes": slopes(heads["num_heads"])})
    block = layer(mixer, gated_mlp(config, hidden, default=DEFAULTS_13B.inner))
    return Stack(
        [block] * num_layers, model(config, hidden, vocab=DEFAULTS_13B.vocab), config.integer("model_max_length")
    )


importer = Importer(
    _stack,
    ignores={**NO_WINDOW, "model_max_length": "max_position_embeddings is the limit", "z_loss_weight": "training only"},
)
