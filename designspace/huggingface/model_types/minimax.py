"""minimax: lightning attention, and every so often a softmax layer.

Source: arXiv 2501.08313; transformers 5.24, modeling_minimax.

The decay of head h of H in layer i of L is exp(-2^(-8h/H) (1 - i / (L - 1 + 1e-5) + 1e-5)): constant, weaker with
depth. The files of the hub name the layers in `attn_type_list` (0 lightning, 1 softmax) and rotate `rotary_dim` of the
channels, as the authors' code does; transformers reads neither of the two. `sliding_window` is the window of the
softmax layers. Norms stand behind the sum of a sub-layer and the stream, which is multiplied by its alpha factor and
the sub-layer by its beta factor.
"""

import math
from typing import Any, Literal

from designspace.candidate import Block, Norm, Skip
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention,
    every,
    from_catalogue,
    gated_mlp,
    model,
    one_expert,
    rope,
    trunk,
    window_size,
)
from designspace.huggingface.selective import silu_activation
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(
    hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=32000, length=131_072, theta=1_000_000.0
)
INTERVAL, FIRST = 2, 0
SOFTENING = 1e-5
LEAST_DECAY = math.exp(-1.0 - SOFTENING)  # of the steepest slope there can be, in the first layer
IGNORES = {
    "block_size": "execution",
    "shared_intermediate_size": "of the channel mixer",
    "shared_moe_mode": "of the channel mixer",
}
FACTORS = {"linear": ("linear_attn", "layernorm_linear_attention"), "full": ("full_attn", "layernorm_full_attention")}


def _stack(config: Config) -> Stack:
    config.note("norm placement", "in code: behind the sum of a sub-layer and the stream, whatever `postnorm` says")
    return lightning_stack(config, DEFAULTS, placement="post")


def lightning_stack(config: Config, defaults: Defaults, *, placement: Literal["pre", "post"]) -> Stack:
    """Lightning and softmax layers with the residual factors of each kind."""
    hidden, num_layers, heads = trunk(config, defaults)
    kinds = _kinds(config, num_layers)
    rotation = rope(config, heads["state_dim"], defaults)
    name = "softmax_rope" if rotation["fraction"] == 1 else "softmax_partial_rope"
    softmax = attention(name, heads, rotation, window_size(config, None))
    silu_activation(config)
    lightning = _lightning(heads, num_layers)
    one_expert(config)
    channel = gated_mlp(config, hidden, default=defaults.inner)
    skips = {kind: _skip(config, kind) for kind in FACTORS}
    _channel_factors(config)
    blocks = [
        Block(
            mixer=softmax if kind == "full" else lightning[index],
            skip=Skip(weight=skips[kind]),
            norm=Norm(kind="rms", placement=placement),
            channel_mixer=channel,
        )
        for index, kind in enumerate(kinds)
    ]
    seq_len = config.integer("max_position_embeddings", default=defaults.length)
    return Stack(blocks, model(config, hidden, vocab=defaults.vocab), seq_len)


def _lightning(heads: dict[str, Any], num_layers: int) -> list[MixerSpec]:
    """Lightning attention of each layer: the slopes of ALiBi times a factor that falls with depth to almost 0."""
    num_heads, width = heads["num_heads"], heads["state_dim"]
    first = from_catalogue("lightning_minimax", heads={"num_heads": num_heads, "state_dim": width, "head_dim": width})
    ends = [2.0 ** (-8.0 * head / num_heads) for head in (1, num_heads)]
    mixers = []
    for index in range(num_layers):
        factor = 1 - index / (num_layers - 1 + SOFTENING) + SOFTENING
        initial = (math.exp(-ends[0] * factor), math.exp(-ends[1] * factor))
        decay = first.decay.model_copy(update={"range": (LEAST_DECAY, 1.0), "initial": initial})
        mixers.append(first.model_copy(update={"decay": decay}))
    return mixers


def _skip(config: Config, kind: str) -> float:
    """alpha / beta of this kind of layer: the norms cancel a factor that the stream and the sub-layer share."""
    short, long = FACTORS[kind]
    alpha = config.number(f"{short}_alpha_factor", f"{long}_alpha", default=1.0)
    beta = config.number(f"{short}_beta_factor", f"{long}_beta", default=1.0)
    if alpha < 0 or beta <= 0:
        raise config.error(f"{short}_beta_factor", f"the factors of a sum must be positive, got {alpha:g}, {beta:g}.")
    return alpha / beta


def _channel_factors(config: Config) -> None:
    factors = [config.number(f"mlp_{name}_factor", f"layernorm_mlp_{name}", default=1.0) for name in ("alpha", "beta")]
    if factors != [1.0, 1.0]:
        key = "mlp_alpha_factor" if config.has("mlp_alpha_factor") else "layernorm_mlp_alpha"
        config.approximate(key, "weights the stream around the channel mixer; the candidate weights it with 1 there")


def _kinds(config: Config, num_layers: int) -> list[str]:
    numbers = config.integers("attn_type_list")
    kinds = schedule(config, num_layers)
    if numbers is None:
        default = ["full" if full else "linear" for full in every(INTERVAL, num_layers, first=FIRST)]
        return kinds or default
    if len(numbers) != num_layers or set(numbers) - {0, 1}:
        raise config.error("attn_type_list", f"`attn_type_list` must hold 0 or 1 for each of the {num_layers} layers.")
    named = ["full" if number else "linear" for number in numbers]
    if kinds is not None and kinds != named:
        raise config.error("layer_types", "`layer_types` contradicts `attn_type_list`.")
    return named


importer = Importer(_stack, ignores={**IGNORES, "postnorm": "in code: norms behind the sums"})
