"""PaTH: softmax attention through accumulated Householder-like products.

Source     Yang et al., 2025, arXiv 2505.16381
Tuple      phi = exp; A_t = I - beta_t w_t w_t^T, |w_t| = 1, beta in (0, 2); b_j = n^-1/2; eta_i = row sum
State      T (n + p) per head; the cached keys are updated at every step
Reference  fla.ops.path_attn.naive.naive_path_attn
Known for  a position code that depends on the data: one layer tracks states that rotary attention cannot
           (NC1-complete word problems)
Sizes      the defaults of fla PaTHAttentionConfig (24 layers, width 2048)
Left out   w comes from a low-rank map and a convolution of width 3; here from one projection
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    erase=Erase(direction="free", gain=(0.0, 2.0)),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=32, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="path",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
