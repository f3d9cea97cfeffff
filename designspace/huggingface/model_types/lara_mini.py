"""lara_mini: Gated DeltaNet, windowed and full softmax layers in a cycle of five. Source: transformers 5.24, lara_mini.

Weighted RMS on q and k in both kinds of softmax layer; keys rotate in the windowed ones only.
"""

from designspace.huggingface.config import Config
from designspace.huggingface.hybrids import DeltaDefaults, gated_delta, schedule
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, decoder, from_catalogue, gated_mlp, one_expert, rope, trunk
from designspace.huggingface.rope import nope

DEFAULTS = Defaults(hidden=1024, layers=34, heads=16, kv_heads=4, head_dim=128, inner=512, vocab=151936, length=131072)
DELTA = DeltaDefaults(key_heads=8, value_heads=16)
DEFAULT_WINDOW = 512
CYCLE = ("linear", "sliding", "linear", "full", "sliding")
WORDS = {"linear_attention": "linear", "sliding_attention": "sliding", "full_attention": "full"}


def _stack(config: Config) -> Stack:
    hidden, num_layers, heads = trunk(config, DEFAULTS)
    window = config.integer("sliding_window", default=DEFAULT_WINDOW)
    rotation = rope(config, heads["state_dim"], DEFAULTS)
    config.note("q/k norm", "in code: weighted RMS per head before the rotation")
    config.note("position", "in code: only the windowed layers rotate their keys")
    one_expert(config)
    mixers = {
        "linear": gated_delta(config, DELTA),
        "sliding": from_catalogue("softmax_qknorm", heads=heads, rotation=rotation, support={"window": window}),
        "full": from_catalogue("softmax_qknorm", heads=heads, rotation=nope()),
    }
    kinds = schedule(config, num_layers, known=WORDS)
    kinds = kinds or [CYCLE[index % len(CYCLE)] for index in range(num_layers)]
    channel = gated_mlp(config, hidden, "moe_intermediate_size", default=DEFAULTS.inner)
    return decoder(config, [mixers[kind] for kind in kinds], hidden=hidden, defaults=DEFAULTS, channel=channel)


importer = Importer(_stack, ignores={})
