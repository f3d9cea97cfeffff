"""Falcon Mamba: Mamba with RMS-normalised B and C.

Source     Zuo et al., 2024, arXiv 2410.05355
Tuple      phi = id with rms q, k; A_t = diag(exp(-A dt_t)), A = 1..16; b_j = dt_j; eta_i = 1; D skip
State      n = 16 per channel, and 3 inputs of the short convolution
Reference  transformers FalconMambaMixer
Known for  the first attention-free 7B model on a par with transformers; the norms stopped loss spikes
Sizes      Falcon Mamba 7B (64 layers, width 4096)
Left out   q, k and dt come from the convolved channels, dt through a low-rank map and an RMS norm
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.support import Support
from designspace.target import Target

DT = (0.001, 0.1)
RATE = (1.0, 16.0)  # A = -1..-16
mixer = MixerSpec(
    decay=Decay(
        granularity="diagonal", map="exp_softplus", initial=(math.exp(-RATE[1] * DT[1]), math.exp(-RATE[0] * DT[0]))
    ),
    scaling=Scaling(base=1.0, gate="dt", initial=DT),
    features=Features(norm="rms", eps_kind="mean"),
    support=Support(diagonal="D"),
    heads=Heads(layout="channel", num_heads=8192, state_dim=16, head_dim=1, kv_groups=1, shared="qk"),
    io=InputOutput(short_conv=ShortConv(width=4, on=("v",)), value_activation="silu", gate="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="falcon_mamba",
        target=Target(seq_len=8192),
        model=ModelSpec(model_dim=4096, vocab_size=65024),
        blocks=(Block(repeat=64, mixer=mixer, channel_mixer=ChannelMixer(kind="none")),),
    ),
)
