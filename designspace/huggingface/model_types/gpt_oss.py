"""gpt_oss: softmax attention with a learned sink in the denominator; a window of 128 in every other layer; YaRN.

Source: arXiv 2508.10925; transformers 5.24, modeling_gpt_oss (the sinks are weights, no key mentions them). A file
without any rotary scaling gets the YaRN of the released models.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.gemma import FULL, layer_kinds, window
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, rope
from designspace.huggingface.rope import yarn_mscale

DEFAULTS = Defaults(
    hidden=2880, layers=36, heads=64, kv_heads=8, head_dim=64, inner=2880, vocab=201088, length=131072, theta=150000.0
)
INTERVAL = 2
WINDOW = 128
YARN = {
    "kind": "yarn",
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_length": 4096,
}


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, DEFAULTS)
    rotation = _rotation(config, heads["state_dim"])
    span = window(config, default=WINDOW)
    config.note("sink", "in code: one learned logit per head joins the denominator")
    mixers = [
        from_catalogue(
            "softmax_sink",
            heads=heads,
            rotation=rotation,
            support={"window": None if kind == FULL else span},
        )
        for kind in layer_kinds(config, config.depth("num_hidden_layers", default=DEFAULTS.layers), interval=INTERVAL)
    ]
    config.note("experts", "the channel mixer stands for one expert of intermediate_size")
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


def _rotation(config: Config, head_dim: int) -> dict[str, Any]:
    rotation = rope(config, head_dim, DEFAULTS)
    length = rotation.get("scaling", YARN).get("original_length", YARN["original_length"])
    if config.integer("initial_context_length", default=length) != length:
        raise config.error(
            "initial_context_length", f"`initial_context_length` must be the rotation's original length {length}."
        )
    if config.has("rope_parameters") or config.has("rope_scaling"):
        return rotation
    config.note("rope_parameters", "the default of transformers 5.24: YaRN with factor 32 from 4096")
    return rotation | {"scaling": YARN, "attention_factor": yarn_mscale(32.0)}


importer = Importer(
    _stack,
    ignores={"swiglu_alpha": "of the channel mixer", "swiglu_limit": "of the channel mixer"},
)
