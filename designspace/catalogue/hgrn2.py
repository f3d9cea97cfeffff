"""HGRN2: HGRN with outer-product state, keys tied to the decay.

Source     Qin et al., 2024, arXiv 2404.07904
Tuple      phi = id with q = silu(x), k = 1 - a; A_t = diag(lo_l + (1 - lo_l) sigmoid(x_t)); b_j = n^-1/2; eta_i = 1,
           then RMS over all heads
State      n p per head
Reference  fla.ops.gla.naive.naive_recurrent_gla with k = 1 - a
Known for  state expansion without more parameters: the forget gate is the key
Sizes      fla defaults at 340M (24 layers, width 1024, heads of 128)
Left out   the floor lo_l of each layer is learned there and starts at l/L, here it is 0 in all, with the first
           quantiles of all layers together
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="sigmoid_floor", initial=(0.43, 0.97)),
    features=Features(map="one_minus_decay"),
    heads=Heads(num_heads=8, state_dim=128, head_dim=128),
    io=InputOutput(output_norm="full_rms"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="hgrn2",
        model=ModelSpec(model_dim=1024, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
