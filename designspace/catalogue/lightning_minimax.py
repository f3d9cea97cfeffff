"""Lightning attention of MiniMax-01: constant decay per head, SiLU on q, k and v.

Source     MiniMax, 2025, arXiv 2501.08313
Tuple      phi = id with q, k = silu(x); A_t = exp(-2^(-8h/H) (1 - l/(L-1) + 1e-5)), h = 1..H; b_j = 1; eta_i = 1,
           then RMS over all heads
State      n p per head; T (n + p) per key/value head in the softmax layers
Reference  transformers MiniMaxLightningAttention
Known for  linear attention at 456 G parameters and a context of a million tokens, seven such layers for one of
           softmax; the rates fall with depth, so the last linear layer keeps a key 79 times as long as the first
Sizes      MiniMax-Text-01: 80 layers of width 6144, every eighth of them softmax attention on 8 groups of keys with
           64 of 128 channels rotating; norms stand behind the sums, the stream weighs 3.56 there; the channel mixer
           stands for one expert
Left out   the stream around a channel mixer weighs 3.56 too there, 1 here
Also       lightning, lightning_attention
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm, Skip
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation
from designspace.scaling import Scaling
from designspace.target import Target

LAYERS, PERIOD, HEADS = 80, 8, 64
SOFTENING = 1e-5
STREAM = 3.5565588200778455


def _lightning(layer: int) -> MixerSpec:
    factor = 1.0 - layer / (LAYERS - 1 + SOFTENING) + SOFTENING
    ends = [math.exp(-(2.0 ** (-8.0 * head / HEADS)) * factor) for head in (1, HEADS)]
    return MixerSpec(
        decay=Decay(
            granularity="scalar",
            source="constant",
            map="fixed",
            range=(math.exp(-1.0 - SOFTENING), 1.0),
            initial=(ends[0], ends[1]),
            spacing="log_rate",
        ),
        scaling=Scaling(base=1.0),
        features=Features(map="silu"),
        heads=Heads(num_heads=HEADS, state_dim=128, head_dim=128),
        io=InputOutput(value_activation="silu", output_norm="full_rms", gate="sigmoid"),
    )


softmax = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant", theta=10_000_000.0, fraction=0.5),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=HEADS, state_dim=128, head_dim=128, kv_groups=8),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="lightning_minimax",
        target=Target(seq_len=1_048_576),
        model=ModelSpec(model_dim=6144, vocab_size=200064),
        blocks=tuple(
            Block(
                mixer=softmax if layer % PERIOD == PERIOD - 1 else _lightning(layer),
                skip=Skip(weight=STREAM),
                norm=Norm(placement="post"),
                channel_mixer=ChannelMixer(kind="swiglu", ratio=1.5),
            )
            for layer in range(LAYERS)
        ),
    ),
)
