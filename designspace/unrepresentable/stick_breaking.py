"""Stick-breaking attention.

Source     Tan et al., 2024, arXiv 2410.17980
Tuple      alpha_ij = sigmoid(z_ij) prod over j < t < i of (1 - sigmoid(z_it)), z = n^-1/2 q . k
State      T (n + p) per head
Reference  fla.ops.stickbreaking_attn.naive
Known for  recency without a position code and good length generalisation; it may leave weight unassigned
Sizes      the default of fla (24 layers, width 2048, 32 heads)
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.fox import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="joint_readout",
    reason="the weight of a key holds the scores of all keys between it and the reader, a transition that depends on"
    " the reader; the forget gate of FoX depends on the token only.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="stick_breaking",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer),),
    ),
)
