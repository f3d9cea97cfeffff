"""TransNormerLLM: linear attention whose row sum gives way to a norm of the output.

Source     Qin et al., 2023, arXiv 2307.14995
Tuple      phi = id with q, k = silu(x); A_t = exp(-8h/H (1 - l/L)), h = 0..H-1; b_j = 1; eta_i = 1, then RMS over all
           heads
State      n p per head
Reference  fla.ops.simple_gla.naive.naive_recurrent_simple_gla with that decay
Known for  showed that the row sum of linear attention makes its gradients unbounded and that a norm repairs it; head
           0 never forgets, the others by the layer
Sizes      the 385M model (24 layers, width 1024, 8 heads)
Left out   the rotary part of the first layer (LRPE)
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

LAYERS, HEADS = 24, 8


def _mixer(layer: int) -> MixerSpec:
    fastest = 8.0 * (HEADS - 1) / HEADS * (1.0 - layer / LAYERS)  # rate of the last head
    return MixerSpec(
        decay=Decay(
            granularity="scalar",
            source="constant",
            map="fixed",
            range=(math.exp(-8.0), 1.0),
            initial=(math.exp(-fastest), 1.0),
            spacing="rate",
        ),
        scaling=Scaling(base=1.0),
        features=Features(map="silu"),
        heads=Heads(num_heads=HEADS, state_dim=128, head_dim=128),
        io=InputOutput(output_norm="full_rms", gate="silu"),
    )


entry = Entry.described(
    __doc__,
    Candidate(
        name="transnormer",
        target=Target(seq_len=2048),
        model=ModelSpec(model_dim=1024, vocab_size=64000),
        blocks=tuple(
            Block(mixer=_mixer(layer), channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)) for layer in range(LAYERS)
        ),
    ),
)
