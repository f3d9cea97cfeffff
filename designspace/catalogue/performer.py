"""Performer: positive random features for softmax attention.

Source     Choromanski et al., 2020, arXiv 2009.14794
Tuple      phi = id with q, k = exp(W x - |x|^2 / 2) / sqrt(m), x n^-1/4; A_t = I; b_j = 1; eta_i = row sum + 1e-6
State      m p + m per head
Reference  zoology feature_map performer
Known for  an unbiased estimate of softmax attention at linear cost; the variance grows with the score, so sharp
           reading fails
Sizes      6 layers of width 512 with 256 features, of our own choice
Left out   the random directions W are orthogonal in the paper, independent here
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling

mixer = MixerSpec(
    scaling=Scaling(base=1.0),
    normalization=Normalization(kind="sum", eps=1e-6),
    features=Features(map="favor", width=256),
    heads=Heads(num_heads=8, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="performer",
        model=ModelSpec(model_dim=512, vocab_size=256),
        blocks=(
            Block(repeat=6, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
