"""MesaNet: the layer solves a ridge regression over the prefix.

Source     von Oswald et al., 2025, arXiv 2506.05233
Tuple      y_t = G_t (H_t + Lambda)^-1 q_t with G_t = a_t G_(t-1) + b_t v_t k_t^T, H_t = a_t H_(t-1) + b_t k_t k_t^T
State      n^2 + n p per head
Reference  fla.ops.mesa_net.naive.naive_mesa_net_exact
Known for  the optimum that delta rules step towards; best in-context recall per parameter at a cost of conjugate
           gradients
Sizes      the default of fla (24 layers, width 2048, 16 heads of 128)
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.mamba2 import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="history_dependent",
    reason="the query (H_t + Lambda)^-1 q_t depends on all past keys; given that query the rest is a"
    " scalar-decay mixer.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="mesa_net",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer),),
    ),
)
