"""abc: attention with bounded memory, softmax over slots. Source: arXiv 2110.02488; fla-core 0.6.0, layers/abc.py.

Not in the grammar: what the first of its two memories reads is the query of the second. The configuration spells
expand_k and expand_v as `exapnd_k` and `exapnd_v`.
"""

from designspace.huggingface import fla
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import from_catalogue, sizes
from designspace.mixer import MixerSpec
from designspace.outside import Outside

REASON = (
    "The query of the second memory is a softmax over what the first of {slots} slots reads, so it depends on the whole"
    " prefix."
)


def _stack(config: Config) -> Stack:
    return slot_stack(config, expand_k=0.5)


def slot_stack(config: Config, *, expand_k: float) -> Stack:
    """A stack of mixers with two memories of `num_slots`; nearest is one memory with a decay per channel."""
    hidden = fla.hidden_size(config)
    reason = REASON.format(slots=config.integer("num_slots", default=64))
    mixer = Outside(outside="history_dependent", reason=reason, nearest=_nearest(config, hidden, expand_k))
    return fla.stack(config, [mixer] * fla.depth(config), hidden=hidden)


def _nearest(config: Config, hidden: int, expand_k: float) -> MixerSpec:
    num_heads = config.integer("num_heads", default=4)
    kv_heads = config.integer("num_kv_heads", default=num_heads, because="num_heads")
    widths = [
        fla.per_head(config, fla.expanded(config, *keys, size=hidden, default=default), num_heads)
        for keys, default in ((("exapnd_k", "expand_k"), expand_k), (("exapnd_v", "expand_v"), 1.0))
    ]
    return from_catalogue(
        "gla",
        heads=sizes(num_heads, kv_heads, *widths),
        io={"short_conv": fla.short_conv(config, "q", "k", "v", default=False)},
    )


_PART = "of the mixer outside the grammar"
importer = Importer(
    _stack,
    ignores={
        **fla.IGNORES,
        **dict.fromkeys(("clamp_max", "clamp_min", "feature_map", "gate_logit_normalizer", "use_norm"), _PART),
        **dict.fromkeys(("use_output_gate", "use_rope"), _PART),
    },
    source=fla.SOURCE,
)
