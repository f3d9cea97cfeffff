"""Mamba (S6): selective state space layer, one head per channel.

Source     Gu, Dao, 2023, arXiv 2312.00752
Tuple      phi = id; A_t = diag(exp(-A dt_t)), A = 1..16; b_j = dt_j; eta_i = 1; D skip
State      n = 16 per channel, and 3 inputs of the short convolution
Reference  transformers mamba_selective_scan; mambapy.MambaBlock
Known for  selection by the step size dt: the first recurrence on a par with transformers; with dt = softplus(0) at
           the start (a benchmark's own) it forgets at once
Sizes      Mamba 130M (24 layers, width 768, 1536 channels); dt log-uniform in [0.001, 0.1]; `initial` holds the
           corners exp(-16 * 0.1) and exp(-0.001)
Left out   q, k and dt come from the convolved channels, dt through a map of rank 48
Also       s6
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.support import Support

DT = (0.001, 0.1)
RATE = (1.0, 16.0)  # A = -1..-16
mixer = MixerSpec(
    decay=Decay(
        granularity="diagonal", map="exp_softplus", initial=(math.exp(-RATE[1] * DT[1]), math.exp(-RATE[0] * DT[0]))
    ),
    scaling=Scaling(base=1.0, gate="dt", initial=DT),
    support=Support(diagonal="D"),
    heads=Heads(layout="channel", num_heads=1536, state_dim=16, head_dim=1, kv_groups=1, shared="qk"),
    io=InputOutput(short_conv=ShortConv(width=4, on=("v",)), value_activation="silu", gate="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="mamba",
        model=ModelSpec(model_dim=768, vocab_size=50280),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="none")),),
    ),
)
