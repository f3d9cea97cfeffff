"""beam: windowed layers rotate, every sixth and the last are full without positions; q/k norm and output gate in code.

Source: transformers 5.24, configuration_beam and modeling_beam: weighted RMS per head before the rotation; output times
sigmoid(gate_proj(x) + bias). A kind of layer whose entry in `rope_parameters` is null does not rotate, and its query
at position i is multiplied by (1 + (i + 1) / 2048)^0.1. The stream after sub-layer n
is (sqrt(n - 1) x + f(norm(x))) / sqrt(n): a plain sum but for a factor that the norms cancel.
"""

from typing import Any

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import (
    Defaults,
    attention,
    decoder,
    layer_types,
    one_expert,
    trunk,
    window_size,
)
from designspace.huggingface.rope import nope, rotary

DEFAULTS = Defaults(hidden=5120, layers=52, heads=48, kv_heads=8, head_dim=128, inner=20480, vocab=151936, length=8192)
WINDOW, PERIOD = 512, 6
SLIDING, WHOLE = "sliding_attention", "full_attention"


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    one_expert(config)
    config.note("q/k norm, output gate", "in code: weighted RMS per head before the rotation; sigmoid gate")
    config.note(
        "norm placement", "in code: a norm in front of each sub-layer and one behind; the candidate has the first"
    )
    kinds = layer_types(config, num_layers, known=(SLIDING, WHOLE)) or _default_kinds(num_layers)
    window = window_size(config, WINDOW)
    by_kind = {
        kind: attention("gated_softmax", heads, _rotation(config, heads["state_dim"], kind), span)
        for kind, span in ((SLIDING, window), (WHOLE, None))
        if kind in kinds
    }
    return decoder(config, [by_kind[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS)


def _default_kinds(num_layers: int) -> list[str]:
    kinds = [SLIDING if (index + 1) % PERIOD else WHOLE for index in range(num_layers)]
    return [*kinds[:-1], WHOLE]


def _rotation(config: Config, width: int, kind: str) -> dict[str, Any]:
    given = config.data.get("rope_parameters")
    by_kind = given if isinstance(given, dict) else {SLIDING: {}, WHOLE: None}
    if by_kind.get(kind) is None:
        config.optional("rope_parameters")
        config.approximate(
            "rope_parameters", f"{kind}: queries times (1 + (i + 1) / 2048)^0.1; here they are not scaled"
        )
        return nope()
    return rotary(config, width, length=DEFAULTS.length, layer_kind=kind if given else None)


importer = Importer(_stack, ignores={"mlp_layer_types": "routing of the channel mixer"})
