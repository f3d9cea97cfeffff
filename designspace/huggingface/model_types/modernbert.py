"""modernbert: rotary encoder; every third layer reads everything, the others local_attention / 2 keys to either side.

Source: arXiv 2412.13663; transformers 5.24, configuration_modernbert and modeling_modernbert. The first layer is full.
"""

from typing import Any

from designspace.candidate import AnyMixer
from designspace.huggingface.bidirectional import IGNORES, both_ways
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, decoder, from_catalogue, layer_types, rope
from designspace.huggingface.plain import plain
from designspace.huggingface.rope import rotary

DEFAULTS = Defaults(hidden=768, layers=22, heads=12, inner=1152, vocab=50368, length=8192)
FULL, SLIDING = "full_attention", "sliding_attention"
THETAS = {FULL: ("global_rope_theta", 160_000.0), SLIDING: ("local_rope_theta", 10_000.0)}
INTERVAL = 3
SPAN = 128


def _stack(config: Config) -> Stack:
    found = plain(config, DEFAULTS)
    either_side = config.integer("local_attention", default=SPAN) // 2
    by_kind: dict[str, AnyMixer] = {
        kind: both_ways(
            from_catalogue(
                "softmax_rope",
                heads=found.heads_of(),
                rotation=rotation_of(config, found.head_dim, kind),
                support={"window": None if kind == FULL else either_side + 1},
            )
        )
        for kind in THETAS
    }
    mixers = [by_kind[kind] for kind in kinds(config, found.layers)]
    return decoder(config, mixers, hidden=found.hidden, defaults=DEFAULTS, norm="layer")


def kinds(config: Config, num_layers: int) -> list[str]:
    """Kind of each layer: layer_types, else the first of each group of global_attn_every_n_layers is full."""
    types = layer_types(config, num_layers, known=(FULL, SLIDING))
    key = "global_attn_every_n_layers"
    if types is not None and not config.has(key):
        return types
    interval = config.integer(key, default=INTERVAL)
    found = [SLIDING if index % interval else FULL for index in range(num_layers)]
    if types not in (None, found):
        raise config.error("layer_types", f"`layer_types` contradicts `{key}`; keep one of them.")
    return found


def rotation_of(config: Config, head_dim: int, kind: str) -> dict[str, Any]:
    """`rotation` of a layer kind: nested `rope_parameters`, or a theta of its own."""
    key, default = THETAS[kind]
    if not config.has("rope_parameters"):
        return rope(config, head_dim, DEFAULTS) | {"theta": config.number(key, default=default)}
    rotation = rotary(config, head_dim, theta=default, layer_kind=kind)
    if config.number(key, default=rotation["theta"]) != rotation["theta"]:
        raise config.error(key, f"`{key}` contradicts `rope_parameters.{kind}.rope_theta`; keep one of them.")
    return rotation


importer = Importer(
    _stack,
    ignores=IGNORES
    | {
        "classifier_activation": "of the classifier, after the last layer",
        "classifier_bias": "of the classifier, after the last layer",
        "classifier_pooling": "of the classifier, after the last layer",
        "cls_token_id": "generation and tokens",
        "decoder_bias": "of the head, after the last layer",
        "deterministic_flash_attn": "execution",
        "embedding_dropout": "training only",
        "initializer_cutoff_factor": "training only",
        "mlp_dropout": "training only",
        "norm_bias": "of the norms around the sub-layers",
        "position_embedding_type": "not read by the model code: it always rotates",
        "reference_compile": "execution",
        "repad_logits_with_grad": "execution",
        "sparse_pred_ignore_index": "which outputs are returned",
        "sparse_prediction": "which outputs are returned",
    },
)
