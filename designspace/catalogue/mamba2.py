"""Mamba-2 (SSD): one decay per head.

Source     Dao, Gu, 2024, arXiv 2405.21060
Tuple      phi = id with q, k = silu(conv x); A_t = exp(-A dt_t) per head, A in [1, 16]; b_j = dt_j; eta_i = 1, gate
           then RMS; D skip
State      n p per head, and 3 inputs of the short convolution
Reference  transformers mamba2_chunk_scan; ssd_minimal_discrete
Known for  state space duality: the recurrence as masked attention on matrix units, with states of 128
Sizes      Mamba-2 130M (24 layers, width 768, 24 heads of 64); dt log-uniform in [0.001, 0.1], A uniform in [1, 16];
           `initial` holds the corners
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

DT = (0.001, 0.1)
RATE = (1.0, 16.0)
mixer = MixerSpec(
    decay=Decay(
        granularity="scalar", map="exp_softplus", initial=(math.exp(-RATE[1] * DT[1]), math.exp(-RATE[0] * DT[0]))
    ),
    scaling=Scaling(base=1.0, gate="dt", initial=DT),
    features=Features(map="silu"),
    support=Support(diagonal="D"),
    heads=Heads(num_heads=24, state_dim=128, head_dim=64, kv_groups=1, shared="qk"),
    io=InputOutput(
        short_conv=ShortConv(width=4, on=("q", "k", "v")),
        value_activation="silu",
        output_norm="group_rms",
        gate="silu",
        order="gate_then_norm",
    ),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="mamba2",
        model=ModelSpec(model_dim=768, vocab_size=50288),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="none")),),
    ),
)
