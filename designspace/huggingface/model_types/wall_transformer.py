"""wall_transformer: softmax whose score decays channel by channel. Source: fla-core 0.6.0, layers/wall_attn.py and
ops/wall_attn/naive.py.

The bias of the gate is at first `gate_init_bias`, so that attention starts almost undecayed. The scalar gate of
`use_scalar_gate` is added to the score after its scale, as in FoX.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue

DEFAULT_BIAS = 8.0


def _stack(config: Config) -> Stack:
    hidden = fla.hidden_size(config)
    norm = {"norm": "rms_weighted", "gain_shared": False} if config.flag("qk_norm", default=False) else {}
    first = fla.sigmoid_range(config, hidden, config.number("gate_init_bias", default=DEFAULT_BIAS))
    mixer = from_catalogue(
        "wall",
        heads=fla.attention_heads(config, hidden),
        decay={"initial": list(first)},
        shear={"source": "input"} if config.flag("use_scalar_gate", default=False) else {},
        features=norm,
        support=fla.window(config),
        io={"gate": "sigmoid" if config.flag("use_output_gate", default=False) else "none"},
    )
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden, has_length=False, hybrid=False)


importer = Importer(_stack, ignores=fla.IGNORES, source=fla.SOURCE)
