"""cosFormer: ReLU features and a cosine of the distance.

Source     Qin et al., 2022, arXiv 2202.08791
Tuple      phi = id with q, k = [relu(x), 0]; A_t = R(pi / 2M) on every pair; b_j = 1; eta_i = row sum
State      2 n p + 2 n per head
Reference  cosformer.CosformerAttention(causal)
Known for  linear attention that favours near keys with weight cos(pi (i - j) / 2M): positive up to M tokens, so M
           must cover the sequence
Sizes      the language model of the paper as far as it is stated (12 layers, width 768, 12 heads), M = 512
Left out   M is the length of the sequence at hand in the published code, a constant here; eta is max(sum, 1e-6)
           there, sum + 1e-6 here
"""

import math

from designspace.angles import AngleScaling
from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.rotation import Rotation
from designspace.scaling import Scaling
from designspace.target import Target

REACH = 512  # tokens until the cosine is 0
mixer = MixerSpec(
    rotation=Rotation(source="constant", theta=1.0, scaling=AngleScaling(kind="linear", factor=2.0 * REACH / math.pi)),
    scaling=Scaling(base=1.0),
    normalization=Normalization(kind="sum", eps=1e-6),
    features=Features(map="relu_zero"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="cosformer",
        target=Target(seq_len=REACH),
        model=ModelSpec(model_dim=768, vocab_size=50265),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
