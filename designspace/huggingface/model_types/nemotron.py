"""nemotron: rotary attention on half of the channels, LayerNorm (1 + w), squared ReLU in the channel mixer.

Source: arXiv 2402.16819; transformers 5.24, modeling_nemotron. The first files on the hub say rope_percent,
rope_percentage or kv_channels (for head_dim; the configuration class of vLLM reads all three).
"""

from dataclasses import replace

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, mlp, rope

DEFAULTS = Defaults(hidden=6144, layers=32, heads=48, inner=24576, vocab=256000, length=4096)
FRACTION = 0.5


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULTS.hidden)
    heads = attention_sizes(config, hidden, _with_head_dim(config))
    fraction = config.number("rope_percent", "rope_percentage", "partial_rotary_factor", default=FRACTION)
    rotation = rope(config, heads["state_dim"], DEFAULTS, fraction=fraction)
    mixer = from_catalogue("softmax_partial_rope", heads=heads, rotation=rotation)
    return decoder(
        config,
        [mixer] * config.depth("num_hidden_layers", default=DEFAULTS.layers),
        hidden=hidden,
        defaults=DEFAULTS,
        channel=mlp(hidden, config.integer("intermediate_size", default=DEFAULTS.inner)),
        norm="layer",
    )


def _with_head_dim(config: Config) -> Defaults:
    """The defaults, with the width of a head where the file calls it `kv_channels`."""
    if not config.has("kv_channels"):
        return DEFAULTS
    return replace(DEFAULTS, head_dim=config.integer("head_dim", "kv_channels"))


importer = Importer(_stack, ignores={})
