"""RG-LRU of Griffin and Hawk: real-gated linear recurrent unit.

Source     De et al., 2024, arXiv 2402.19427
Tuple      phi = id with q = k = 1, n = 1; A_t = exp(-8 sigmoid(r_t) softplus(p)); b_j = sqrt(1 - a_j^2); eta_i = 1; v
           = sigmoid(i) x
State      1 per channel, and 3 inputs of the short convolution
Reference  transformers RecurrentGemmaRglru
Known for  Hawk and, with local attention, Griffin and RecurrentGemma; sqrt(1 - a^2) keeps the variance but has an
           unbounded slope at a = 1
Sizes      Hawk 100M (12 layers, width 768, 1024 channels); the reference draws rad in [0.9, 0.999] and a = rad^(8
           sigmoid(r))
Left out   the gate maps are block-diagonal there; the first position is not rescaled by sqrt(1 - a^2)
Also       griffin, recurrent_gemma
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

RING = (0.9, 0.999)
EXPONENT = 4.0  # 8 sigmoid(r) at r = 0
mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="rglru", initial=(RING[0] ** EXPONENT, RING[1] ** EXPONENT)),
    scaling=Scaling(base=1.0, gate="sqrt_1_minus_a2"),
    features=Features(map="ones"),
    heads=Heads(layout="channel", num_heads=1024, state_dim=1, head_dim=1),
    io=InputOutput(short_conv=ShortConv(width=4, on=("v",)), value_gate="sigmoid", gate="gelu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="rg_lru",
        model=ModelSpec(model_dim=768, vocab_size=32000),
        blocks=(Block(repeat=12, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=3.0)),),
    ),
)
