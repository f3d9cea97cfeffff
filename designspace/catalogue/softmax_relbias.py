"""T5 attention: a learned bias for each distance, no division by sqrt(n).

Source     Raffel et al., 2020, arXiv 1910.10683
Tuple      phi = exp; A_t = shift on a table of 128 lags (unipotent); b_j = 1; eta_i = row sum
State      T (n + p) per head
Reference  transformers T5Attention
Known for  position as a scalar per distance; the missing 1/sqrt(n) sits in the initial query weights, so the scores
           start at standard deviation 1
Sizes      the decoder of T5 base (12 layers, width 768)
Left out   distances share 32 log-spaced buckets and all beyond 128 the last one; here one entry per lag and 0 beyond
Also       t5
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.scaling import Scaling
from designspace.shear import Shear
from designspace.target import Target

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    shear=Shear(source="table", width=128),
    scaling=Scaling(base=1.0),
    normalization=Normalization(kind="sum"),
    features=Features(q_std=0.125),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_relbias",
        target=Target(seq_len=512),
        model=ModelSpec(model_dim=768, vocab_size=32128),
        blocks=(Block(repeat=12, mixer=mixer, channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),),
    ),
)
