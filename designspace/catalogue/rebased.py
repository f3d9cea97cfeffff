"""ReBased: the square of an affine-normalised score.

Source     Aksenov et al., 2024, arXiv 2402.10644
Tuple      phi = z^2; A_t = I; b_j = n^-1/2 with layer-normalised q, k; eta_i = row sum + 1e-6
State      n (n + 1) / 2 (p + 1) per head
Reference  fla.ops.rebased.naive.naive_parallel_rebased
Known for  Based with a learned parabola that can reach 0; better in-context recall at the same state
Sizes      two layers with the sizes of Based 360M
Left out   the shift of the layer norm, one per channel, where the mixer learns the gain only; q and k share that gain
           in the paper
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Polynomial

mixer = MixerSpec(
    readout=Polynomial(kind="polynomial", coefficients=(0.0, 0.0, 1.0)),
    normalization=Normalization(kind="sum", eps=1e-6),
    features=Features(norm="layernorm", eps=1e-5, eps_kind="mean"),
    heads=Heads(num_heads=16, state_dim=16, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="rebased",
        model=ModelSpec(model_dim=1024, vocab_size=50277),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
