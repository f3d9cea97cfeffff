"""Top-k sparse attention: each query keeps the keys that score best.

Source     DeepSeek-AI, 2025, arXiv 2512.02556
Tuple      softmax over the k keys that an indexer scores highest for query i
State      T (n + p) per head, and an index key per token
Reference  transformers DeepseekV32 indexer; fla.ops.nsa.naive
Known for  attention cost linear in the length at nearly the quality of dense attention (NSA, MoBA, DSA)
Sizes      DeepSeek-V3.2 as far as the grammar holds it: its dense attention is the entry mla
Also       top_k_sparse_attention
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.mla import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="sparse_support",
    reason="which keys a query reads is chosen from the scores of the whole row; given the mask it is exact, and dense"
    " softmax is the proxy.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="top_k_sparse",
        model=ModelSpec(model_dim=2048, vocab_size=102400),
        blocks=(Block(repeat=27, mixer=mixer),),
    ),
)
