"""Hedgehog: softmax over [x, -x] as the feature map.

Source     Zhang et al., 2024, arXiv 2402.04347
Tuple      phi = id with q, k = softmax([x, -x]), 2n features; A_t = I; b_j = 1; eta_i = row sum + 1e-6
State      2 n p + 2 n per head
Reference  fla HedgehogFeatureMap
Known for  spiky, monotone features learned by distilling a softmax model; positive, so a key is suppressed only on
           disjoint supports
Sizes      GPT-2 125M, which the paper converts
Left out   the feature map there is softmax([2 W x, -2 W x]) with a learned W for each of q and k
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
    features=Features(map="softmax_pm"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="hedgehog",
        model=ModelSpec(model_dim=768, vocab_size=50257, positions="learned"),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
