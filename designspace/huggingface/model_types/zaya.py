"""zaya: compressed convolutional attention: q and k convolved over three tokens, half of each value one token late.

Source: arXiv 2510.04476; transformers 5.24, modeling_zaya: l2 norm times sqrt(head_dim), which is RMS, and a learned
temperature per key head before the rotation of half the channels.
"""

from typing import Any

from designspace.candidate import ChannelMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, gated_mlp, layer_types
from designspace.huggingface.rope import rotary

DEFAULTS = Defaults(hidden=2048, layers=40, heads=8, kv_heads=2, head_dim=128, inner=2048, vocab=262272, length=131072)
THETAS = {"hybrid": 5_000_000.0, "hybrid_sliding": 10_000.0}
FRACTION = 0.5
TAPS = 2


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    num_layers = _depth(config)
    for key, width in (("num_query_groups", heads["kv_groups"]), ("kv_channels", heads["state_dim"])):
        if config.integer(key, default=width) != width:
            raise config.error(key, f"`{key}` contradicts the newer name of it, which says {width}; keep one of them.")
    kinds = layer_types(config, num_layers, known=tuple(THETAS)) or ["hybrid"] * num_layers
    depthwise, grouped = (config.integer(key, default=TAPS) for key in ("cca_time0", "cca_time1"))
    config.approximate("cca_time1", "the second convolution mixes channels of a head; here all taps are depthwise")
    config.note("values", "in code: half of each value comes from the token before, which two taps hold")
    config.note("q/k norm", "in code: l2 times sqrt(head_dim), and a learned temperature per key head")
    by_kind = {
        kind: from_catalogue(
            "softmax_qknorm",
            heads=heads,
            rotation=_rotation(config, heads["state_dim"], kind),
            features={"norm": "rms"},
            scaling={"learnable": True},
            support={"window": config.integer("sliding_window") if kind == "hybrid_sliding" else None},
            io={"short_conv": {"width": depthwise + grouped - 1, "on": ["q", "k", "v"]}},
        )
        for kind in sorted(set(kinds))
    }
    channel = _expert(config, hidden)
    return decoder(config, [by_kind[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


def _depth(config: Config) -> int:
    """Layers with attention. Files with `cca` count attention and experts as layers of their own, one after the other,
    and may say `rope_scaling: false`.
    """
    depth = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    if not config.flag("cca", default=False):
        return depth
    if config.data.get("rope_scaling") is False:
        config.data = config.data | {"rope_scaling": None}
    if depth % 2:
        raise config.error("num_hidden_layers", f"`num_hidden_layers` counts pairs in this file, got {depth}.")
    return depth // 2


def _rotation(config: Config, head_dim: int, kind: str) -> dict[str, Any]:
    return rotary(config, head_dim, fraction=FRACTION, theta=THETAS[kind], layer_kind=kind)


def _expert(config: Config, hidden: int) -> ChannelMixer:
    """One expert; ffn_hidden_size of the first files holds both halves of its gated input."""
    if config.has("ffn_hidden_size"):
        return ChannelMixer(kind="swiglu", ratio=config.integer("ffn_hidden_size") / 2 / hidden)
    return gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)


importer = Importer(
    _stack,
    ignores={
        "activation_func": "of the channel mixer",
        "activation_func_fp8_input_store": "execution",
        "add_bias_linear": "a bias of the projections leaves the tuple as it is",
        "bias_activation_fusion": "execution",
        "gated_linear_unit": "of the channel mixer",
        "hybrid": "no layer of this kind",
        "hybrid_sliding": "no layer of this kind",
        "lm_head_bias": "outside the mixer",
        "mamba_cache_dtype": "execution",
        "moe_router_topk": "routing of the channel mixer",
        "normalization": "of the norms around the sub-layers",
        "residual_in_fp32": "execution",
        "scale_residual_merge": "of the residual stream, outside the mixer",
        "router_hidden_size": "routing of the channel mixer",
        "rope_type": "beside the layer kinds it has no effect",
        "sliding_window": "no sliding layer",
    },
)
