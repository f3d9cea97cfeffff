"""Selective attention: a token may mask others for all later queries.

Source     Leviathan, Kalman, Matias, 2024, arXiv 2410.02703
Tuple      softmax of s_ij - sum over j < t < i of relu(s_tj)
State      T (n + p + 1) per head
Reference  x_transformers.attend.selective_attn
Known for  smaller caches at equal perplexity; without the relu it is a shear of the state
Sizes      12 layers of width 768 (the paper has many sizes)
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.softmax_nope import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="joint_readout",
    reason="relu(s_tj) is not linear in the stored key k_j, so no transition A_t applies it; without the relu it is a"
    " shear.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="selective_attention",
        model=ModelSpec(model_dim=768, vocab_size=32000),
        blocks=(Block(repeat=12, mixer=mixer),),
    ),
)
