"""falcon_h1: Mamba-2 and rotary attention side by side in every layer, summed. Source: transformers 5.24, falcon_h1.

muP multipliers: `key_multiplier` scales the keys, so it belongs to the scale of the score. Those that act before a
projection or before the convolution are part of what the projections learned; they are reported where they are not 1.
"""

from designspace.candidate import Parallel
from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    from_catalogue,
    gated_mlp,
    layer,
    model,
    rope,
)
from designspace.huggingface.selective import IGNORES, hybrid_mamba2
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336, vocab=128000, length=8192)
DEFAULT_STATE_CHANNELS = 1024
INPUT_MULTIPLIERS = ("attention_in_multiplier", "ssm_in_multiplier")
STREAMS = 5  # gate, channels, B, C, step


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    mixer = Parallel(parallel=(_mamba2(config, hidden), _attention(config, hidden)), merge="sum")
    _multipliers(config)
    block = layer(mixer, gated_mlp(config, hidden, default=DEFAULTS.inner))
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    schedule(config, num_layers, known={"hybrid": "hybrid"})
    seq_len = config.integer("max_position_embeddings", default=DEFAULTS.length)
    return Stack([block] * num_layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _attention(config: Config, hidden: int) -> MixerSpec:
    heads = attention_sizes(config, hidden, DEFAULTS)
    scale = heads["state_dim"] ** -0.5 * config.number("key_multiplier", default=1.0)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    return from_catalogue("softmax_rope", heads=heads, rotation=rotation, scaling={"base": scale})


def _mamba2(config: Config, hidden: int) -> MixerSpec:
    expanded = config.integer("mamba_expand", default=2) * hidden
    is_null = config.is_null("mamba_d_ssm")
    inner = expanded if is_null else config.integer("mamba_d_ssm", default=DEFAULT_STATE_CHANNELS)
    normed = config.flag("mamba_rms_norm", default=False)
    before = config.flag("mamba_norm_before_gate", default=True)
    return hybrid_mamba2(
        config,
        inner,
        output_norm="group_rms" if normed else "none",
        order="norm_then_gate" if before else "gate_then_norm",
    )


def _multipliers(config: Config) -> None:
    for key in INPUT_MULTIPLIERS:
        if (factor := config.number(key, default=1.0)) != 1.0:
            config.approximate(
                key, f"the input of this branch is scaled by {factor:g}; taken as part of its projections"
            )
    factors = config.items("ssm_multipliers") or [1.0] * STREAMS
    if len(factors) != STREAMS:
        raise config.error("ssm_multipliers", f"`ssm_multipliers` needs {STREAMS} numbers, got {len(factors)}.")
    if any(config.finite("ssm_multipliers", factor) != 1.0 for factor in factors):
        config.approximate(
            "ssm_multipliers",
            "gate, channels, B, C and step are scaled before the convolution; taken as part of their projections",
        )


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "attention_out_multiplier": "scales the output of the branch",
        "attn_layer_indices": "not read by the model code: every layer has both branches",
        "embedding_multiplier": "scales the embedding",
        "lm_head_multiplier": "scales the logits",
        "mamba_use_mlp": "the channel mixer is always present",
        "mlp_expansion_factor": "intermediate_size is given",
        "mlp_multipliers": "scales the channel mixer",
        "projectors_bias": "a bias of the projections leaves the tuple as it is",
        "ssm_out_multiplier": "scales the output of the branch",
        "time_step_max": "initialisation of the step",
        "time_step_min": "initialisation of the step",
    },
)
