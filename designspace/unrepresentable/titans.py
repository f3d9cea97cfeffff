"""Titans: a neural memory trained at test time with momentum and forgetting.

Source     Behrouz, Zhong, Mirrokni, 2024, arXiv 2501.00663
Tuple      S_t = mu_t S_(t-1) - theta_t grad l(M_(t-1); x_t), M_t = (1 - a_t) M_(t-1) + S_t with M a multilayer
           perceptron
State      two copies of the weights of the memory
Reference  lucidrains titans-pytorch NeuralMemory
Known for  long-context recall from surprise-driven writing; a linear memory without norm is Momentum DeltaNet with
           decay
Sizes      24 layers of width 1024 (the paper gives no table of depths)
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.momentum_deltanet import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="nonlinear_memory",
    reason="the memory is a multilayer perceptron (or has a layer norm in its loss): its update is nonlinear in the"
    " state; the linear case is Momentum DeltaNet.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="titans",
        model=ModelSpec(model_dim=1024, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer),),
    ),
)
