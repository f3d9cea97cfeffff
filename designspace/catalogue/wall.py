"""Wall attention: a decay per channel inside the exponential.

Source     Averbuch, Pai, 2026, https://github.com/fla-org/flash-linear-attention
Tuple      phi = exp; A_t = diag(sigmoid(x_t + 8)); b_j = n^-1/2; eta_i = row sum
State      T (n + p) per head, keys rescaled as they age
Reference  fla.ops.wall_attn.naive.naive_wall_attn
Known for  the cell of the grammar where the gates of GLA meet softmax: it forgets inside the score, so an old key
           tends to score 0, not to weight 0
Sizes      the defaults of the layer (32 heads of 64) in a stack of 24 layers; the gate starts in fla with weights
           of standard deviation 0.02 and a bias of 8: `initial` holds the 5 and 95 % quantiles sigmoid(8 -+ 1.645 *
           0.905)
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    decay=Decay(granularity="diagonal", map="sigmoid", initial=(0.99852, 0.999924)),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=32, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="wall",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
