"""Gated linear attention with one decay per head.

Source     Sun et al., 2024, arXiv 2405.05254
Tuple      phi = id with q, k = silu(conv x); A_t = sigmoid(x_t)^(1/16) per head; b_j = n^-1/2; eta_i = 1, then RMS
           per head
State      n p per head
Reference  fla.ops.simple_gla.naive.naive_recurrent_simple_gla
Known for  the gated retention of YOCO: Mamba-2's structure in the words of linear attention, cheap on matrix units
Sizes      fla defaults at 340M (24 layers, width 1024); gate weights of standard deviation 0.02 give x_t
           the standard deviation 0.64; `initial` holds the 5 and 95 % quantiles
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="sigmoid_tau", initial=(0.919, 0.981)),
    heads=Heads(num_heads=4, state_dim=128, head_dim=256),
    io=InputOutput(
        short_conv=ShortConv(width=4, on=("q", "k", "v")), value_activation="silu", output_norm="head_rms", gate="silu"
    ),
    features=Features(map="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="simple_gla",
        model=ModelSpec(model_dim=1024, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
