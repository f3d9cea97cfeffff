"""bailing_hybrid: Kimi Delta Attention, every `layer_group_size`-th layer gated latent attention (Ling 3).

Source: transformers 5.24, modeling_bailing_hybrid. `head_dim` is the width of the Kimi Delta heads, as many as the
attention has; in files that transformers wrote it is the width of the rotating part, and `linear_head_dim` the other.
With `kda_safe_gate` the decay is exp(kda_lower_bound sigmoid(x)). The latent attention rotates pairs of neighbours.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import (
    CONV_TAPS,
    kimi_delta,
    log_floor,
    schedule,
)
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.latent import Latent, latent_mixer, pairing
from designspace.huggingface.model_types.kimi_linear import IGNORES
from designspace.huggingface.parts import (
    Defaults,
    every,
    gated_mlp,
    layer,
    model,
    one_expert,
)
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(
    hidden=2560, layers=42, heads=32, inner=768, vocab=157184, length=262_144, head_dim=128, theta=6_000_000.0
)
LATENT = Latent(query_rank=None)
GROUP = 6
LOG_FLOOR = -5.0
LIGHTNING = "V2_5"  # BailingMoeV2_5ForCausalLM: lightning attention under the same model_type


def _stack(config: Config) -> Stack:
    architectures = config.items("architectures") or []
    if any(isinstance(name, str) and LIGHTNING in name for name in architectures):
        raise unsupported(config, "architectures", architectures)
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    full, delta = _latent(config, hidden), _delta(config)
    one_expert(config)
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    kinds = schedule(config, num_layers)
    if kinds is None:
        group = config.integer("layer_group_size", default=GROUP)
        kinds = ["full" if is_full else "linear" for is_full in every(group, num_layers)]
    layers = [layer(full if kind == "full" else delta, channel) for kind in kinds]
    seq_len = config.integer("model_max_length", "max_position_embeddings", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _latent(config: Config, hidden: int) -> MixerSpec:
    granularity = config.text("gated_attention_proj_granularity_type", default="head_wise")
    if granularity != "head_wise":
        raise unsupported(config, "gated_attention_proj_granularity_type", granularity)
    config.note("output gate", "in code: one sigmoid per head; the candidate has one per channel")
    mixer = latent_mixer(config, hidden, DEFAULTS, LATENT, pairing=pairing(config), io={"gate": "sigmoid"})
    theta = config.number("rope_theta", default=DEFAULTS.theta)
    if config.has("rope_theta") and mixer.rotation.theta != theta:
        raise config.error("rope_theta", "`rope_theta` contradicts `rope_parameters.rope_theta`; keep one.")
    return mixer


def _delta(config: Config) -> MixerSpec:
    num_heads = config.integer("num_attention_heads", default=DEFAULTS.heads)
    key = "linear_head_dim" if config.has("linear_head_dim") else "head_dim"
    width = config.integer(key, default=DEFAULTS.head_dim)
    taps = config.integer("short_conv_kernel_size", "linear_conv_kernel_dim", default=CONV_TAPS)
    if config.integer("linear_num_heads", default=num_heads) != num_heads:
        raise config.error("linear_num_heads", f"`linear_num_heads` must be {num_heads}, the heads of the attention.")
    floor = config.number("kda_lower_bound", default=LOG_FLOOR)
    is_safe = config.flag("kda_safe_gate", default=True)
    return kimi_delta(
        num_heads=num_heads,
        head_dim=width,
        taps=taps,
        log_floor=log_floor(config, "kda_lower_bound", floor) if is_safe else None,
    )


importer = Importer(
    _stack,
    ignores={
        **IGNORES,
        "group_norm_size": "the norm of the output is per head",
        "layer_group_size": "layer_types decides",
        "no_kda_lora": "rank of the maps of decay and gate: parameters, not the tuple",
        **dict.fromkeys(
            (
                "moe_router_enable_expert_bias",
                "moe_router_enable_routed_scaling",
                "moe_router_enable_shared_expert",
                "moe_shared_expert_intermediate_size",
                "score_function",
            ),
            "routing of the channel mixer",
        ),
    },
)
