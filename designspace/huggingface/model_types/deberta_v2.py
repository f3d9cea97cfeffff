"""deberta-v2: encoder whose score adds products of q and k with vectors of the distance, all over sqrt(terms n).

Source: arXiv 2006.03654; transformers 5.24, modeling_deberta_v2 (scale_factor). Those terms are left out of the
nearest point; positions are added to the embedding only with position_biased_input.
"""

from typing import Any

from designspace.huggingface.bidirectional import IGNORES, both_ways, post_norm_stack
from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.parts import Defaults, from_catalogue
from designspace.huggingface.plain import plain

DEFAULTS = Defaults(hidden=1536, layers=24, heads=24, inner=6144, vocab=128100, length=512)
TERMS = ("c2p", "p2c")


def _stack(config: Config) -> Stack:
    found = plain(config, DEFAULTS)
    if config.integer("attention_head_size", default=found.head_dim) != found.head_dim:
        raise config.error("attention_head_size", f"`attention_head_size` must be {found.head_dim} with these heads.")
    terms = _terms(config)
    mixer = from_catalogue(
        "softmax_nope", heads=found.heads_of(), scaling={"base": (found.head_dim * (1 + len(terms))) ** -0.5}
    )
    positions = "learned" if config.flag("position_biased_input", default=True) else "none"
    return post_norm_stack(config, found, [both_ways(mixer)] * found.layers, positions=positions)


def _terms(config: Config) -> list[str]:
    """The distance terms of the score: a list, or words joined by a bar."""
    given: Any = config.optional("pos_att_type") or []
    words = [word.strip() for word in given.lower().split("|")] if isinstance(given, str) else given
    if not isinstance(words, list) or any(word not in TERMS for word in words):
        raise config.error("pos_att_type", f"`pos_att_type` must name some of {', '.join(TERMS)}, got {given!r}.")
    if not config.flag("relative_attention", default=False):
        return []
    config.approximate("relative_attention", "the products of q and k with vectors of the distance are left out")
    return words


importer = Importer(
    _stack,
    ignores=IGNORES
    | {
        "conv_act": "of the convolution beside the first layer",
        "conv_kernel_size": "of the convolution beside the first layer, outside the mixer",
        "legacy": "of the head for masked tokens",
        "max_relative_positions": "of the distance terms, which are left out",
        "norm_rel_ebd": "of the distance terms, which are left out",
        "position_buckets": "of the distance terms, which are left out",
        "share_att_key": "of the distance terms, which are left out",
    },
)
