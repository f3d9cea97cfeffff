"""Sizes of what a mixer keeps while decoding: the state of a recurrence, or a cache that grows with the length.

Source: theory, P1; arXiv 2510.09389, principle 1.
"""

from types import MappingProxyType

from designspace.mixer import MixerSpec
from designspace.rotation import Dtype

BYTES: MappingProxyType[Dtype, int] = MappingProxyType({"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2})


def cached_numbers_per_token(mixer: MixerSpec) -> int:
    """Numbers that one token adds to the cache of a layer: keys and values of every distinct stream."""
    heads = mixer.heads
    value_streams = heads.groups if heads.shared == "kv" else heads.num_heads
    return heads.groups * mixer.key_dim + value_streams * heads.head_dim


def state_numbers(mixer: MixerSpec) -> int | None:
    """Numbers in the state of a layer: rows of the lift times p, or p + 1 where eta sums the row; None without one."""
    rows = 1 if mixer.score_is_additive else mixer.lifted_dim
    if rows is None or not mixer.is_finite_memory:
        return None
    return mixer.heads.num_heads * rows * (mixer.heads.head_dim + mixer.normalization.sums_the_row)


def is_lifted(mixer: MixerSpec) -> bool:
    """The state has more rows per head than the keys have channels before map and readout."""
    return (mixer.lifted_dim or 0) > mixer.heads.state_dim
