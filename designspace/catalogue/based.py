"""Based: second-order Taylor expansion of exp as the readout.

Source     Arora et al., 2024, arXiv 2402.18668
Tuple      phi = 1 + z + z^2/2; A_t = I; b_j = n^-1/2; eta_i = row sum + 1e-6
State      (1 + n + n (n + 1) / 2) (p + 1) per head
Reference  fla.ops.based.naive.naive_parallel_based
Known for  the trade between state size and recall; phi >= 1/2 never suppresses a key, so windowed layers do the
           precise reading
Sizes      two linear attention layers with the sizes of the 360M model, whose stack mixes them with windows of 64 and
           convolutions
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Polynomial

mixer = MixerSpec(
    readout=Polynomial(kind="polynomial", coefficients=(1.0, 1.0, 0.5)),
    normalization=Normalization(kind="sum", eps=1e-6),
    heads=Heads(num_heads=16, state_dim=16, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="based",
        model=ModelSpec(model_dim=1024, vocab_size=50277),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
