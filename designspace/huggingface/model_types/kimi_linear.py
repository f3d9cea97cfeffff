"""kimi_linear: Kimi Delta Attention, and latent attention without positions.

Source: arXiv 2510.26692; transformers 5.24, modeling_kimi_linear.

The files of the hub name the layers in `linear_attn_config`, counted from 1; the class default, every 4th layer but the
first counted from 0, contradicts them. `head_dim` and the rotary keys are not read: no key rotates, though a part of
each key is shared by the heads as if it did.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import (
    CONV_TAPS,
    kimi_delta,
    listed,
    log_floor,
    schedule,
    unrotated_latent,
)
from designspace.huggingface.importer import Importer, Stack, unsupported
from designspace.huggingface.latent import Latent
from designspace.huggingface.parts import Defaults, gated_mlp, layer, model, one_expert
from designspace.huggingface.selective import UNROTATED
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(hidden=2304, layers=27, heads=32, inner=1024, vocab=163840, length=1_048_576)
LATENT = Latent(query_rank=None)
INTERVAL = 4
IGNORES = {
    "activation_situ_beta": "of the channel mixer",
    "activation_situ_linear_beta": "of the channel mixer",
    "first_k_dense_replace": "which channel mixers have experts",
    "intermediate_size": "of the dense channel mixers of the first layers",
    "latent_moe_use_norm": "of the channel mixer",
    "use_full_rank_gate": "rank of the map of the output gate: parameters, not the tuple",
    "mlp_layer_types": "which channel mixers have experts",
    "moe_renormalize": "routing of the channel mixer",
    "moe_router_activation_func": "routing of the channel mixer",
    "mtp_loss_scaling_factor": "training only",
    "num_expert_group": "routing of the channel mixer",
    "num_experts_per_token": "routing of the channel mixer",
    "num_mtp_layers": "layers of multi-token prediction, not of the model",
    "num_shared_experts": "routing of the channel mixer",
    "routed_expert_hidden_size": "of the channel mixer",
    "use_grouped_topk": "routing of the channel mixer",
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    config.note("position", "in code: no rotary embedding; the Kimi Delta layers carry position")
    if not config.flag("mla_use_nope", default=True):
        raise unsupported(config, "mla_use_nope", False)
    gated = config.flag("mla_use_output_gate", default=False)
    full = unrotated_latent(config, hidden, DEFAULTS, LATENT, io={"gate": "sigmoid" if gated else "none"})
    if config.has("attn_res_block_size"):
        config.integer("attn_res_block_size")
        config.approximate(
            "attn_res_block_size", "residuals attend over the outputs of earlier blocks; plain sums here"
        )
    delta = _delta(config)
    one_expert(config)
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    layers = [layer(full if is_full else delta, channel) for is_full in _is_full(config, num_layers)]
    seq_len = config.integer("model_max_length", "max_position_embeddings", default=DEFAULTS.length)
    return Stack(layers, model(config, hidden, vocab=DEFAULTS.vocab), seq_len)


def _delta(config: Config) -> MixerSpec:
    inner = config.nested("linear_attn_config")
    bound = inner.number("gate_lower_bound") if inner.has("gate_lower_bound") else None
    floor = None if bound is None else log_floor(inner, "gate_lower_bound", bound)
    return kimi_delta(
        num_heads=either(config, "linear_num_heads", inner, "num_heads", 32),
        head_dim=either(config, "linear_head_dim", inner, "head_dim", 128),
        taps=either(config, "linear_conv_kernel_dim", inner, "short_conv_kernel_size", CONV_TAPS),
        log_floor=floor,
    )


def either(config: Config, key: str, nested: Config, nested_key: str, default: int) -> int:
    """A size that the file holds in the nested object, beside it, or in both, which must agree."""
    if not nested.has(nested_key):
        return config.integer(key, default=default)
    value = nested.integer(nested_key)
    if config.has(key) and config.integer(key) != value:
        raise config.error(key, f"`{key}` contradicts `linear_attn_config.{nested_key}: {value}`.")
    return value


def _is_full(config: Config, num_layers: int) -> list[bool]:
    nested = config.nested("linear_attn_config")
    full = listed(nested, "full_attn_layers", num_layers, first=1)
    delta = listed(nested, "kda_layers", num_layers, first=1)
    kinds = schedule(config, num_layers)
    if full is None and delta is None:
        default = ["full" if index and index % INTERVAL == 0 else "linear" for index in range(num_layers)]
        return [kind == "full" for kind in kinds or default]
    everything = set(range(num_layers))
    full = everything - (delta or set()) if full is None else full
    delta = everything - full if delta is None else delta
    if full & delta or len(full | delta) != num_layers:
        message = f"`full_attn_layers` and `kda_layers` must name each of 1..{num_layers} once, in one of the two."
        raise nested.error("full_attn_layers", message)
    named = [index in full for index in range(num_layers)]
    if kinds is not None and [kind == "full" for kind in kinds] != named:
        raise config.error("layer_types", "`layer_types` contradicts `linear_attn_config.full_attn_layers`.")
    return named


importer = Importer(_stack, ignores={**UNROTATED, **IGNORES})
