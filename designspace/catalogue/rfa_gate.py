"""Random feature attention with a scalar forget gate.

Source     Peng et al., 2021, arXiv 2103.02143
Tuple      phi = id with q, k = [cos W x, sin W x] / sqrt(m) of unit x; A_t = g_t = sigmoid(x_t); b_j = 1 - g_j; eta_i
           = row sum
State      2 m p + 2 m per head
Reference  none public that runs on a CPU: the formula of the paper
Known for  the first gate on linear attention's state; the features are signed, so the row sum can reach 0
Sizes      6 layers of width 512, of our own choice; the gate starts at sigmoid of unit-variance inputs,
           `initial` holds the 5 and 95 % quantiles
Also       rfa
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="sigmoid", initial=(0.16, 0.84)),
    scaling=Scaling(base=1.0, gate="complement"),
    normalization=Normalization(kind="sum"),
    features=Features(map="rff", width=64),
    heads=Heads(num_heads=8, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="rfa_gate",
        model=ModelSpec(model_dim=512),
        blocks=(
            Block(repeat=6, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
