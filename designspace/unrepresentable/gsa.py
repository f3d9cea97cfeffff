"""GSA: gated slots, two linear attentions in a row.

Source     Zhang et al., 2024, arXiv 2409.07146
Tuple      o = softmax(q K_t^T) V_t over m slots, K_t = diag(a_t) K_(t-1) + (1 - a_t) k_t^T, V_t likewise
State      m (n + p) per head
Reference  fla.ops.gsa.naive.naive_recurrent_gsa
Known for  recall of softmax over a bounded set of slots; each of the two passes is a gated linear attention
Sizes      the 1.3B model (24 layers, width 2048, 4 heads, 64 slots)
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.gla import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="history_dependent",
    reason="the query of the second pass is a softmax over slots of the first, so it depends on the whole prefix; each"
    " pass alone is a diagonal-decay mixer.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="gsa",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer),),
    ),
)
