"""TTT-Linear: the state is a linear model trained on the sequence.

Source     Sun et al., 2024, arXiv 2407.04620
Tuple      W_t = W_(t-1) - eta_t grad |LN(W k_t) + k_t - v_t|^2 at the start of each mini-batch of 16 tokens, y_t =
           LN(W_t q_t) + q_t
State      n p per head
Reference  fla.ops.ttt.naive.ttt_linear
Known for  a hidden state that learns; without the layer norm and with mini-batches of one token it is the delta rule
Sizes      the 1.3B model (24 layers, width 2048, 32 heads)
Also       ttt
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.deltanet import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="nonlinear_memory",
    reason="the layer norm inside the inner loss makes the update nonlinear in the state and in the values; without it"
    " and with mini-batches of 1 it is DeltaNet.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="ttt_linear",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer),),
    ),
)
