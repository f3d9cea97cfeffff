"""Differential attention: the difference of two softmax maps on the same values.

Source     Ye et al., 2024, arXiv 2410.05258
Tuple      two points phi = exp, A_t = R, b_j = n^-1/2, eta_i = row sum with shared values, weights 1 and -lambda;
           then RMS per head
State      T (4 n) per head: two keys and a value of 2 n
Reference  transformers DiffLlamaAttention
Known for  noise that both maps have in common cancels: less attention on irrelevant tokens, better key retrieval; a
           coefficient may be negative, which no single softmax point allows
Sizes      the 3B model (28 layers, width 3072, 12 heads with two keys of 128); lambda starts at 0.8 - 0.6 exp(-0.3 l)
Left out   lambda is exp(l1 . l1') - exp(l2 . l2') + its start there, one learned number here; the constant factor 1 -
           lambda after the norm, which the output projection takes
Also       diff_attention, differential_attention
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.composition import Parallel
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation
from designspace.target import Target

LAYERS = 28
mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant"),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=12, state_dim=128, head_dim=256),
    io=InputOutput(output_norm="head_rms"),
)


def _difference(layer: int) -> Parallel:
    start = 0.8 - 0.6 * math.exp(-0.3 * layer)
    return Parallel(parallel=(mixer, mixer), weights=(1.0, -start), learnable_weights=True, shared_values=True)


entry = Entry.described(
    __doc__,
    Candidate(
        name="diff",
        target=Target(seq_len=4096),
        model=ModelSpec(model_dim=3072, vocab_size=100288),
        blocks=tuple(
            Block(mixer=_difference(layer), channel_mixer=ChannelMixer(kind="swiglu", ratio=2.667))
            for layer in range(LAYERS)
        ),
    ),
)
