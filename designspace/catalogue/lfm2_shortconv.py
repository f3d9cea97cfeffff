"""LFM2 gated short convolution.

Source     Liquid AI, 2025, arXiv 2511.23404
Tuple      phi = id, n = 1; A_t = shift over 3 lags, q_i taps[i - j] k_j; b_j = 1; eta_i = 1
State      2 per channel
Reference  transformers Lfm2ShortConv
Known for  most layers of a fast on-device hybrid need no more than three tokens of context
Sizes      the 10 convolution layers of LFM2 1.2B (width 2048) without its 6 attention layers
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.lift import Lift
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    lift=Lift(kind="shift", width=3),
    scaling=Scaling(base=1.0),
    heads=Heads(layout="channel", num_heads=2048, state_dim=1, head_dim=1),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="lfm2_shortconv",
        target=Target(seq_len=128000),
        model=ModelSpec(model_dim=2048, vocab_size=65536),
        blocks=(Block(repeat=10, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=4.0)),),
    ),
)
