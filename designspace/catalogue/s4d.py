"""S4D: diagonal state space layer, time-invariant.

Source     Gu et al., 2022, arXiv 2206.11893
Tuple      phi = id with static q = 2C, k = (a - 1) B / lambda; A_t = exp(dt lambda) on 32 complex pairs; b_j = 1;
           eta_i = 1; D skip
State      n = 64 real numbers per channel
Reference  state-spaces/s4 models/s4/s4d.py, S4DKernel (zero-order hold)
Known for  long-range arena with a convolution of length T; nothing depends on the token, so it cannot select
           (selective copying)
Sizes      6 layers of 512 channels; S4D-Lin: Re lambda = -1/2, Im lambda = pi m, dt log-uniform in [0.001, 0.1];
           `initial` holds the ends exp(-0.1 / 2) and exp(-0.001 / 2)
Left out   GELU and GLU after the layer; k is tied to lambda and dt there, free here with the same initial size
Also       s4d_lin
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
    decay=Decay(granularity="diagonal", source="learned", map="exp_exp", initial=(0.9512, 0.9995)),
    rotation=Rotation(source="learned", initial=(0.0, 9.739)),
    scaling=Scaling(base=1.0),
    features=Features(map="static", q_std=1.41, k_std=0.016),
    support=Support(diagonal="D"),
    heads=Heads(layout="channel", num_heads=512, state_dim=64, head_dim=1),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="s4d",
        target=Target(seq_len=1024),
        model=ModelSpec(model_dim=512),
        blocks=(Block(repeat=6, mixer=mixer, norm=Norm(kind="layer")),),
    ),
)
