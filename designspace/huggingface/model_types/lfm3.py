"""lfm3: lfm2 with windowed layers, an output gate per head and kernels of 7. Source: transformers 5.24, modeling_lfm3.

Every fourth layer from the third is full, every fourth from the fifth windowed, the others are convolutions. The two
kinds of attention rotate differently: half of the channels at theta 1e6 in the full layers, all at 1e4 in the windowed.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.lfm2 import IGNORES, short_convolution, width_of_stream
from designspace.huggingface.parts import Defaults, attention_sizes, decoder, from_catalogue, rope, window_size
from designspace.mixer import MixerSpec

DEFAULTS = Defaults(
    hidden=2048,
    layers=24,
    heads=16,
    kv_heads=4,
    head_dim=128,
    inner=7680,
    vocab=128_000,
    length=128_000,
    theta=1_000_000.0,
)
TAPS = 7
DEFAULT_WINDOW = 256
WORDS = {"conv": "conv", "full_attention": "full_attention", "sliding_attention": "sliding_attention"}
ROTATIONS: dict[str, dict[str, Any]] = {  # of the model class, where rope_parameters is absent
    "full_attention": {"theta": 1_000_000.0, "fraction": 0.5, "scaling": {"kind": "proportional"}},
    "sliding_attention": {"theta": 10_000.0, "fraction": 1.0},
}


def _stack(config: Config) -> Stack:
    hidden = width_of_stream(config, DEFAULTS)
    num_layers = config.depth("num_hidden_layers", default=DEFAULTS.layers)
    mixers = {
        "conv": short_convolution(config, hidden, TAPS),
        "full_attention": _attention(config, hidden, "full_attention", None),
        "sliding_attention": _attention(config, hidden, "sliding_attention", window_size(config, DEFAULT_WINDOW)),
    }
    if config.flag("use_sandwich_norm", default=True):
        config.approximate("use_sandwich_norm", "one more norm on the output of each sub-layer; left out")
    kinds = schedule(config, num_layers, known=WORDS) or [_default_kind(index) for index in range(num_layers)]
    return decoder(config, [mixers[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS)


def _attention(config: Config, hidden: int, kind: str, window: int | None) -> MixerSpec:
    heads = attention_sizes(config, hidden, DEFAULTS)
    if config.has("rope_parameters"):
        rotation = rope(config, heads["state_dim"], DEFAULTS, layer_kind=kind)
    else:
        rotation = {"source": "constant", "pairing": "half", **ROTATIONS[kind]}
        config.note(f"rotation of {kind}", f"of the model class: {ROTATIONS[kind]}")
    gated = config.flag("use_attention_gate", default=True)
    if gated:
        config.note("output gate", "in code: one sigmoid per head; the candidate has one per channel")
    return from_catalogue(
        "gated_softmax" if gated else "softmax_qknorm", heads=heads, rotation=rotation, support={"window": window}
    )


def _default_kind(index: int) -> str:
    if index % 4 == 2:
        return "full_attention"
    return "sliding_attention" if index % 4 == 0 and index > 0 else "conv"


importer = Importer(_stack, ignores=IGNORES)
