"""Softmax attention whose scores are not divided by sqrt(n).

Source     Raffel et al., 2020, arXiv 1910.10683
Tuple      phi = exp; A_t = I; b_j = 1; eta_i = row sum
State      T (n + p) per head
Reference  transformers GPTNeoSelfAttention
Known for  T5 folds the factor into the initial weights, GPT-Neo trains without it. As a new design with unit-variance
           q and k the scores have standard deviation sqrt(n): 8 at n = 64, so attention starts saturated.
Sizes      GPT-Neo 125M (12 layers, width 768)
Left out   every second layer of GPT-Neo sees a window of 256 keys; here all are global
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.scaling import Scaling

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    scaling=Scaling(base=1.0),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_unscaled",
        model=ModelSpec(model_dim=768, vocab_size=50257, positions="learned"),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
