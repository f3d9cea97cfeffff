"""modernbert-decoder: modernbert with a causal mask; its window of local_attention / 2 counts the query's own key.

Source: transformers 5.24, modeling_modernbert_decoder. Files that were saved hold the window too, as `sliding_window`,
which then counts.
"""

from designspace.huggingface.bidirectional import IGNORES
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.modernbert import DEFAULTS, FULL, SPAN, THETAS, kinds, rotation_of
from designspace.huggingface.model_types.modernbert import importer as encoder
from designspace.huggingface.parts import decoder, from_catalogue, stated
from designspace.huggingface.plain import plain


def _stack(config: Config) -> Stack:
    found = plain(config, DEFAULTS)
    half = config.integer("local_attention", default=SPAN, least=2) // 2
    window = config.integer("sliding_window", default=half)
    for key in ("causal_mask", "is_causal"):
        stated(config, key, True, why="it reads no later token")
    by_kind = {
        kind: from_catalogue(
            "softmax_rope",
            heads=found.heads_of(),
            rotation=rotation_of(config, found.head_dim, kind),
            support={"window": None if kind == FULL else window},
        )
        for kind in THETAS
    }
    mixers = [by_kind[kind] for kind in kinds(config, found.layers)]
    return decoder(config, mixers, hidden=found.hidden, defaults=DEFAULTS, norm="layer")


importer = Importer(_stack, ignores={**IGNORES, **encoder.ignores})
