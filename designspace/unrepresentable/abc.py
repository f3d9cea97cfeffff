"""ABC: attention with bounded memory control.

Source     Peng et al., 2021, arXiv 2110.02488
Tuple      as GSA without forgetting: slots K_t = sum phi_j k_j^T, V_t = sum phi_j v_j^T, o = softmax(q K_t^T) V_t
State      m (n + p) per head
Reference  fla.ops.abc.naive.naive_recurrent_abc
Known for  one view of several efficient attentions as writing to a bounded number of slots
Sizes      the default of fla (24 layers, width 2048, 4 heads, 64 slots)
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.linear import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="history_dependent",
    reason="the weights over the slots come from a softmax of the query with slots that hold the whole prefix.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="abc",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer),),
    ),
)
