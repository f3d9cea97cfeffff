"""Multi-head latent attention: keys and values of all heads come from one normed vector, a rotary part bypasses it.

Source: arXiv 2405.04434; transformers 5.24, modeling_deepseek_v2 and _v3. A key has qk_nope_head_dim + qk_rope_head_dim
channels, of which the rotary ones are the same for all heads; `head_dim` in such files is the rotary width, or worse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from designspace.candidate import AnyMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Stack
from designspace.huggingface.parts import Defaults, decoder, from_catalogue, layer_types, rope
from designspace.huggingface.rope import nope, yarn_mscale
from designspace.mixer import MixerSpec
from designspace.outside import Outside

INDEXER = {
    "index_head_dim": "of the indexer, which is outside the grammar",
    "index_n_heads": "of the indexer, which is outside the grammar",
    "index_share_for_mtp_iteration": "training only: extra layers that predict further tokens",
    "index_skip_topk_offset": "which layers share the picked keys of another: outside the grammar",
    "index_topk_freq": "which layers share the picked keys of another: outside the grammar",
    "index_topk_pattern": "which layers share the picked keys of another: outside the grammar",
    "indexer_rope_interleave": "of the indexer, which is outside the grammar",
    "indexer_types": "which layers share the picked keys of another: outside the grammar",
}
IGNORES = {
    "expert_ffn_hidden_size": "of the channel mixer",
    "mlp_layer_types": "routing of the channel mixer",
    "moe_router_enable_expert_bias": "routing of the channel mixer",
    "moe_router_topk_scaling_factor": "routing of the channel mixer",
    "moe_shared_expert_intermediate_size": "of the channel mixer",
    "num_experts_shared": "routing of the channel mixer",
    "num_mtp_layers": "training only: extra layers that predict further tokens",
    "num_shared_experts": "routing of the channel mixer",
    "qk_lora_rank": "not read by the model code",
    "use_mtp": "training only: extra layers that predict further tokens",
}


@dataclass(frozen=True)
class Latent:
    """Class defaults of the widths. `value` None: hidden size / heads; `query_rank` None: queries not compressed."""

    rank: int = 512
    nope: int = 128
    rope: int = 64
    value: int | None = 128
    query_rank: int | None = 1536


def latent_heads(config: Config, hidden: int, defaults: Defaults, latent: Latent) -> dict[str, Any]:
    """`heads` from the keys of an MLA file."""
    num_heads = config.integer("num_attention_heads", default=defaults.heads)
    if config.integer("num_key_value_heads", default=num_heads, because="one per head") != num_heads:
        raise config.error(
            "num_key_value_heads", f"latent attention has one key per head: `num_key_value_heads` must be {num_heads}."
        )
    rank = config.integer("kv_lora_rank", default=latent.rank)
    plain = config.integer("qk_nope_head_dim", default=latent.nope)
    rotary_dim = config.integer("qk_rope_head_dim", default=latent.rope, least=0)
    width = plain + rotary_dim
    value = config.integer("v_head_dim", default=latent.value or hidden // num_heads)
    if config.integer("qk_head_dim", "q_head_dim", default=width, because="nope + rope") != width:
        raise config.error("qk_head_dim", f"`qk_head_dim` must be the sum of nope and rope, {width}.")
    allowed = (rotary_dim, plain, plain + rotary_dim, rank + rotary_dim, value, hidden // num_heads)
    if config.has("head_dim") and config.integer("head_dim") not in allowed:
        raise config.error("head_dim", f"`head_dim` must be one of {sorted(set(allowed))}, which the other keys give.")
    config.optional("head_dim")
    return {
        "num_heads": num_heads,
        "state_dim": plain + rotary_dim,
        "head_dim": value,
        "kv_groups": None,
        "latent_dim": rank,
        "shared_key_dim": rotary_dim,
    }


def query_rank(config: Config, latent: Latent) -> int | None:
    """Width of the compressed query, None where the projection is whole; parameters only, not the tuple."""
    key = "q_lora_rank"
    if config.is_null(key) or (latent.query_rank is None and not config.has(key)):
        config.note("query", "null q_lora_rank: the projection to the queries is whole")
        return None
    rank = config.integer(key, default=latent.query_rank)
    config.note("query", f"compressed to {rank} channels and RMS-normed there, which leaves the tuple")
    return rank


def latent_rotation(
    config: Config, heads: dict[str, Any], defaults: Defaults, *, pairing: str, counted: int | None
) -> dict[str, Any]:
    """`rotation` of the shared channels of a key.

    Args:
        counted: channels that partial_rotary_factor is a share of; None: the rotary ones.
    """
    rotary_dim, width = heads["shared_key_dim"], heads["state_dim"]
    if rotary_dim == 0 or rotary_dim % 2:
        raise config.error("qk_rope_head_dim", f"`qk_rope_head_dim` must be even and positive, got {rotary_dim}.")
    counted = counted or rotary_dim
    rotation = rope(config, counted, defaults, fraction=rotary_dim / counted, pairing=pairing)
    if round(rotation["fraction"] * counted) != rotary_dim:
        raise config.error(
            "partial_rotary_factor",
            f"`partial_rotary_factor` must stand for the {rotary_dim} channels of qk_rope_head_dim.",
        )
    return rotation | {"fraction": rotary_dim / width}


def score_scale(config: Config, width: int) -> float:
    """width^-1/2, times the square of 0.1 mscale_all_dim ln(factor) + 1 where the angles are stretched."""
    parameters = config.nested("rope_parameters" if config.has("rope_parameters") else "rope_scaling")
    scale = float(width**-0.5)
    if not parameters.has("mscale_all_dim") or parameters.text("rope_type", "type", default="default") == "default":
        return scale
    gain = yarn_mscale(parameters.number("factor"), parameters.number("mscale_all_dim"))
    config.note("score scale", f"{width}^-1/2 times {gain * gain:.6g}, the square of YaRN's factor at mscale_all_dim")
    return scale * gain * gain


def latent_mixer(
    config: Config,
    hidden: int,
    defaults: Defaults,
    latent: Latent,
    *,
    pairing: str,
    gain: float = 1.0,
    counted: int | None = None,
    **fields: dict[str, Any],
) -> MixerSpec:
    """The mixer of an MLA layer.

    Args:
        pairing: of the rotating channels.
        gain: constant factor of the score in the model's code.
        counted: see latent_rotation.
        fields: further keys of the mixer, field by field.
    """
    heads = latent_heads(config, hidden, defaults, latent)
    query_rank(config, latent)
    return from_catalogue(
        "mla",
        heads=heads,
        rotation=latent_rotation(config, heads, defaults, pairing=pairing, counted=counted),
        scaling={"base": score_scale(config, heads["state_dim"]) * gain, **fields.pop("scaling", {})},
        **fields,
    )


def pairing(config: Config) -> str:
    """Interleaved unless `rope_interleave` is false."""
    return "interleaved" if config.flag("rope_interleave", default=True) else "half"


def latent_stack(
    config: Config, mixers: Sequence[AnyMixer], *, hidden: int, defaults: Defaults, experts: bool = True
) -> Stack:
    """The decoder around MLA layers."""
    if experts:
        config.note("experts", "the channel mixer is that of the dense layers (intermediate_size)")
    return decoder(config, mixers, hidden=hidden, defaults=defaults)


def equal_layers(config: Config, defaults: Defaults, latent: Latent, *, pairing: str, experts: bool = True) -> Stack:
    """A stack of equal MLA layers."""
    hidden = config.integer("hidden_size", default=defaults.hidden)
    mixer = latent_mixer(config, hidden, defaults, latent, pairing=pairing)
    mixers = [mixer] * config.depth("num_hidden_layers", default=defaults.layers)
    return latent_stack(config, mixers, hidden=hidden, defaults=defaults, experts=experts)


def indexed(config: Config, dense: MixerSpec, *, topk: int) -> Outside:
    """What stands for `dense` where an indexer keeps `index_topk` keys per query."""
    kept = config.integer("index_topk", default=topk)
    return Outside(
        outside="sparse_support",
        reason=f"an indexer keeps the index_topk = {kept} best keys of each query: the support depends on scores.",
        nearest=dense,
    )


def indexed_stack(config: Config, defaults: Defaults, latent: Latent, *, topk: int, output_gate: str = "none") -> Stack:
    """A stack of equal MLA layers with an indexer; the dense part has interleaved pairs in all such models."""
    hidden = config.integer("hidden_size", default=defaults.hidden)
    dense = latent_mixer(config, hidden, defaults, latent, pairing="interleaved", io={"gate": output_gate})
    num_layers = config.depth("num_hidden_layers", default=defaults.layers)
    layer_types(config, num_layers, known=("indexed_attention", "deepseek_sparse_attention"))
    mixers = [indexed(config, dense, topk=topk)] * num_layers
    return latent_stack(config, mixers, hidden=hidden, defaults=defaults)


def no_rotation(mixer: MixerSpec) -> MixerSpec:
    """The same layer without positions."""
    return MixerSpec.model_validate(mixer.model_dump(mode="json") | {"rotation": nope()})
