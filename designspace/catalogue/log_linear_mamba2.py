"""Log-linear Mamba-2: one state per power of two of the past.

Source     Guo et al., 2025, arXiv 2506.04761
Tuple      phi = id with q, k = silu(conv x); A_t = exp(-A dt_t) on Fenwick buckets; b_j = dt_j, read with a weight
           per level; eta_i = 1, gate then RMS; D skip
State      n p (log2 T + 1) per head, and 3 inputs of the short convolution
Reference  fla.ops.log_linear_attn.naive
Known for  between a fixed state and a cache: recent tokens finely, old ones coarsely; log-linear training cost
Sizes      Mamba-2 130M (24 layers, width 768) as fla starts it: A = 1..24 over the heads, dt log-uniform in [0.001,
           0.1]; `initial` holds the corners
Left out   a level weighs softplus(L x) with a learned L per head and level there and starts at ln 2, softplus(x + 0.54)
           here, which starts at 1
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.lift import Lift
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.support import Support

DT = (0.001, 0.1)
HEADS = 24
RATE = (1.0, float(HEADS))
mixer = MixerSpec(
    decay=Decay(
        granularity="scalar", map="exp_softplus", initial=(math.exp(-RATE[1] * DT[1]), math.exp(-RATE[0] * DT[0]))
    ),
    lift=Lift(kind="fenwick"),
    scaling=Scaling(base=1.0, gate="dt", initial=DT),
    features=Features(map="silu"),
    support=Support(diagonal="D"),
    heads=Heads(num_heads=HEADS, state_dim=128, head_dim=64, kv_groups=1, shared="qk"),
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
        name="log_linear_mamba2",
        model=ModelSpec(model_dim=768, vocab_size=50288),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="none")),),
    ),
)
