"""afmoe: experts; windowed layers rotate, every fourth is full without positions; q/k norm and output gate in code.

Source: transformers 5.24, modeling_afmoe: output times sigmoid(gate_proj(x)).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, attention, decoder, every, one_expert, rope, trunk, typed_windows
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(hidden=2048, layers=32, heads=16, head_dim=128, inner=6144, vocab=200192, length=16384)
WINDOW, PERIOD = 1024, 4


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    one_expert(config)
    config.note("q/k norm, output gate", "in code: weighted RMS per head before the rotation; sigmoid gate")
    config.note("positions", "in code: layers without a window have none")
    period = config.integer("global_attn_every_n_layers", default=PERIOD)
    spans = typed_windows(config, num_layers, [not full for full in every(period, num_layers)], default=WINDOW)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    mixers = [attention("gated_softmax", heads, rotation if span else nope(), span) for span in spans]
    return decoder(config, mixers, hidden=hidden, defaults=DEFAULTS)


importer = Importer(
    _stack,
    ignores={
        "load_balance_coeff": "training only",
        "mup_enabled": "scales the embedding",
        "num_dense_layers": "routing of the channel mixer",
        "num_expert_groups": "routing of the channel mixer",
        "num_limited_groups": "routing of the channel mixer",
        "num_shared_experts": "routing of the channel mixer",
        "route_norm": "routing of the channel mixer",
        "route_scale": "routing of the channel mixer",
        "score_func": "routing of the channel mixer",
        "use_grouped_mm": "execution",
    },
)
