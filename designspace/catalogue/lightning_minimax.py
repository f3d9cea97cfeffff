"""Lightning attention of MiniMax-01: constant decay per head, SiLU on q, k and v.

Source     MiniMax, 2025, arXiv 2501.08313
Tuple      phi = id with q, k = silu(x); A_t = exp(-2^(-8h/H) (1 - l/(L-1) + 1e-5)), h = 1..H; b_j = 1; eta_i = 1,
           then RMS over all heads
State      n p per head
Reference  transformers MiniMaxLightningAttention
Known for  linear attention at 456 G parameters and a context of a million tokens, seven such layers for one of
           softmax
Sizes      the run of seven layers between two softmax layers of MiniMax-Text-01; the channel mixer stands for one
           expert
Left out   the decay grows weaker with depth (the last layer hardly forgets); here every layer is the first, l = 0
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.target import Target

HEADS = 64
FIRST_LAYER = 1.0 + 1e-5
SLOPES = (2.0 ** (-8.0 / HEADS) * FIRST_LAYER, 2.0**-8 * FIRST_LAYER)  # of the first and the last head
mixer = MixerSpec(
    decay=Decay(
        granularity="scalar",
        source="constant",
        map="fixed",
        range=(math.exp(-1.0), 1.0),
        initial=(math.exp(-SLOPES[0]), math.exp(-SLOPES[1])),
        spacing="log_rate",
    ),
    scaling=Scaling(base=1.0),
    features=Features(map="silu"),
    heads=Heads(num_heads=HEADS, state_dim=128, head_dim=128),
    io=InputOutput(value_activation="silu", output_norm="full_rms", gate="sigmoid"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="lightning_minimax",
        target=Target(seq_len=1048576),
        model=ModelSpec(model_dim=6144, vocab_size=200064),
        blocks=(Block(repeat=7, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=1.5)),),
    ),
)
