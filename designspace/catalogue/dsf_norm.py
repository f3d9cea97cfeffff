"""Linear attention normalised by a learned factor of the query token.

Source     Sieber et al., 2024, arXiv 2405.15731
Tuple      phi = id; A_t = I; b_j = 1; eta_i = exp(w . x_i)
State      n p per head
Reference  dsf-mqar SelfNormAttention
Known for  separates normalization from softmax: a free eta_i closes part of the gap of linear attention on recall
Sizes      the MQAR model of the paper (2 layers, width 128, 1 head)
Also       normalised_attention
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    scaling=Scaling(base=1.0),
    normalization=Normalization(kind="learned"),
    heads=Heads(num_heads=1, state_dim=128, head_dim=128),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="dsf_norm",
        target=Target(seq_len=512),
        model=ModelSpec(model_dim=128, vocab_size=8192),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
