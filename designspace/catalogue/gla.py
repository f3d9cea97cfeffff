"""Gated linear attention: one decay per key channel.

Source     Yang et al., 2023, arXiv 2312.06635
Tuple      phi = id; A_t = diag(sigmoid(x_t)^(1/16)); b_j = n^-1/2; eta_i = 1, then RMS per head
State      n p per head
Reference  fla.ops.gla.naive.naive_recurrent_gla
Known for  chunkwise training of data-dependent diagonal decay; starts with a half-life of 16 tokens
Sizes      the 340M model of the paper (24 layers, width 1024, keys half as wide as values); the low-rank gate starts
           near 0.5^(1/16); `initial` holds the 5 and 95 % quantiles
Left out   the gate comes through a map of rank 16
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="sigmoid_tau", initial=(0.955, 0.960)),
    heads=Heads(num_heads=4, state_dim=128, head_dim=256),
    io=InputOutput(output_norm="head_rms", gate="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="gla",
        model=ModelSpec(model_dim=1024, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
