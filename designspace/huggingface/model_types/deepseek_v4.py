"""deepseek_v4: one key/value head whose value is the rotated key, a window of 128 with a sink; most layers also read
compressed or picked keys of the past, which is outside the grammar.

Source: transformers 5.24, configuration_deepseek_v4 and modeling_deepseek_v4. Files on the hub say compress_ratios
(0 sliding, 4 compressed sparse, 128 heavily compressed) and qk_rope_head_dim.
"""

from typing import Any

from designspace.candidate import AnyMixer
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention_sizes,
    decoder,
    from_catalogue,
    gated_mlp,
    layer_types,
    rope,
)
from designspace.mixer import MixerSpec
from designspace.outside import Outside

DEFAULTS = Defaults(
    hidden=4096, layers=43, heads=64, kv_heads=1, head_dim=512, inner=2048, vocab=129280, length=1048576
)
SLIDING, PICKED, COMPRESSED = "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"
BY_RATIO = {0: SLIDING, 4: PICKED, 128: COMPRESSED}
ROTARY_SHARE = 64 / 512
COMPRESS_THETA = 160_000.0
WINDOW, TOPK = 128, 512


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    kinds = _kinds(config, config.depth("num_hidden_layers", default=DEFAULTS.layers))
    main, compress = (_dense(config, hidden, name) for name in ("main", "compress"))
    by_kind: dict[str, AnyMixer] = {
        SLIDING: main,
        PICKED: _outside(
            f"beside its window a query reads the index_topk = {config.integer('index_topk', default=TOPK)} best of the"
            f" entries that each hold {_rate(config, PICKED, 4)} tokens: the support depends on scores.",
            compress,
        ),
        COMPRESSED: _outside(
            f"beside its window a query reads one learned average for every {_rate(config, COMPRESSED, 128)} tokens:"
            " the keys are not those of single tokens.",
            compress,
        ),
    }
    config.note("sink", "in code: one learned logit per head joins the denominator")
    config.note("values", "in code: the value is the rotated key, turned back at the query, which is left out")
    channel = gated_mlp(config, hidden, "moe_intermediate_size", "intermediate_size", default=DEFAULTS.inner)
    return decoder(config, [by_kind[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


def _outside(reason: str, nearest: MixerSpec) -> Outside:
    return Outside(outside="sparse_support", reason=reason, nearest=nearest)


def _kinds(config: Config, num_layers: int) -> list[str]:
    """layer_types, compress_ratios (which may go on beyond the last layer), or the pattern of the class."""
    types = layer_types(config, num_layers, known=(SLIDING, PICKED, COMPRESSED))
    ratios = config.integers("compress_ratios")
    if ratios is None:
        in_turn = [COMPRESSED] * 2 + [PICKED if index % 2 else COMPRESSED for index in range(max(num_layers - 2, 0))]
        return types or in_turn[:num_layers]
    if len(ratios) < num_layers or any(ratio not in BY_RATIO for ratio in ratios):
        raise config.error("compress_ratios", f"`compress_ratios` must hold 0, 4 or 128 for {num_layers} layers.")
    found = [BY_RATIO[ratio] for ratio in ratios][:num_layers]
    if types not in (None, found):
        raise config.error("layer_types", "`layer_types` contradicts `compress_ratios`; keep one of them.")
    return found


def _rate(config: Config, kind: str, default: int) -> int:
    """Tokens behind one compressed entry."""
    key = "compress_rate_csa" if kind == PICKED else "compress_rate_hca"
    return config.integer(key, default=config.nested("compress_rates").integer(kind, default=default))


def _dense(config: Config, hidden: int, name: str) -> MixerSpec:
    """The window that every layer has, with the rotation of that name."""
    heads = attention_sizes(config, hidden, DEFAULTS)
    return from_catalogue(
        "softmax_sink",
        heads=heads,
        rotation=_rotation(config, heads["state_dim"], name),
        features={"norm": "rms_weighted", "eps_kind": "mean"},
        support={"window": config.integer("sliding_window", default=WINDOW)},
    )


def _rotation(config: Config, head_dim: int, name: str) -> dict[str, Any]:
    """Sliding layers turn with rope_theta, the others with compress_rope_theta and the scaling, whose factor on cosine
    and sine is 1 unless stated.
    """
    nested = config.data.get("rope_parameters")
    share = ROTARY_SHARE
    if config.has("qk_rope_head_dim"):
        share = config.integer("qk_rope_head_dim") / head_dim
    if isinstance(nested, dict) and name in nested:
        return rope(config, head_dim, DEFAULTS, fraction=share, layer_kind=name) | {"pairing": "interleaved"}
    rotation = rope(config, head_dim, DEFAULTS, fraction=share, pairing="interleaved")
    if name == "main":
        return {key: rotation[key] for key in ("source", "theta", "fraction", "pairing")}
    stated = config.nested("rope_parameters" if config.has("rope_parameters") else "rope_scaling")
    factor = rotation.get("attention_factor", 1.0) if stated.has("attention_factor") else 1.0
    theta = config.number("compress_rope_theta", default=COMPRESS_THETA)
    return rotation | {"theta": theta, "attention_factor": factor}


importer = Importer(
    _stack,
    ignores={
        "compress_rope_theta": "rope_parameters says it",
        "default_num_hash_layers": "routing of the channel mixer",
        "expert_dtype": "execution",
        "hc_eps": "of the residual stream (hyper-connections), outside the mixer",
        "hc_mult": "of the residual stream (hyper-connections), outside the mixer",
        "hc_sinkhorn_iters": "of the residual stream (hyper-connections), outside the mixer",
        "index_head_dim": "of the indexer, which is outside the grammar",
        "index_n_heads": "of the indexer, which is outside the grammar",
        "mlp_layer_types": "routing of the channel mixer",
        "num_hash_layers": "routing of the channel mixer",
        "o_groups": "groups of the output projection: parameters, not the tuple",
        "o_lora_rank": "width of the output projection: parameters, not the tuple",
        "q_lora_rank": "width of the compressed query: parameters, not the tuple",
        "rope_theta": "rope_parameters says it",
        "swiglu_limit": "of the channel mixer",
    },
)
