"""S4, diagonalised: the state space layer that starts from HiPPO-LegS.

Source     Gu, Goel, Re, 2021, arXiv 2111.00396
Tuple      phi = id with static q = 2C, k = dt B / (1 - dt lambda/2); A_t = (1 + dt lambda/2) / (1 - dt lambda/2) on 32
           complex pairs (bilinear rule); b_j = 1; eta_i = 1; D skip
State      n = 64 real numbers per channel
Reference  the recurrence of the paper in the eigenbasis of its normal part; s5-pytorch make_DPLR_HiPPO for lambda
Known for  the first to solve Path-X of long-range arena. HiPPO-LegS projects the past on Legendre polynomials; its
           normal part has 32 pairs with Re lambda = -1/2, Im lambda from 0.264 to 1303
Sizes      6 layers of 512 channels; HiPPO-LegS with n = 64, dt log-uniform in [0.001, 0.1]; `initial` of the decay
           holds the 5 and 95 % quantiles of |A_t|, that of the rotation the ends of its angle
Left out   the rank-one part of the matrix (without it the kernels are the same in the limit of large n, arXiv
           2206.11893); GELU and GLU after the layer; k is tied to lambda and dt there, free here with the same initial
           size
Also       hippo, hippo_legs, s4_legs
"""

from designspace.candidate import Block, Candidate, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation
from designspace.scaling import Scaling
from designspace.support import Support
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", source="learned", map="exp_exp", initial=(0.974, 0.99949)),
    rotation=Rotation(source="learned", initial=(0.000264, 3.111)),
    scaling=Scaling(base=1.0),
    features=Features(map="static", q_std=1.41, k_std=0.026),
    support=Support(diagonal="D"),
    heads=Heads(layout="channel", num_heads=512, state_dim=64, head_dim=1),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="s4",
        target=Target(seq_len=1024),
        model=ModelSpec(model_dim=512),
        blocks=(Block(repeat=6, mixer=mixer, norm=Norm(kind="layer")),),
    ),
)
