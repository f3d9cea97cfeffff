"""Gated DeltaNet-2: separate channel-wise gates for erasing and writing.

Source     Hatamizadeh, Choi, Kautz, 2026, arXiv 2605.22791
Tuple      phi = id with unit q, k = silu(conv x); A_t = (I - k_t (beta_t * k_t)^T) diag(a_t), beta in (0, 1)^n; b_j =
           n^-1/2, v gated by sigmoid; eta_i = 1, then RMS per head
State      n p per head, and 3 inputs of each short convolution
Reference  fla.ops.gdn2.naive
Known for  erase gate on the key axis, write gate on the value axis; a step may expand (sigma_max 1.10 measured), so
           no product is certified
Sizes      the defaults of fla (width 2048, 16 heads of 128), 24 layers; A uniform in [1, 16], dt log-uniform in
           [0.001, 0.1]; `initial` holds the 5 and 95 % quantiles
Left out   A is one number per head there, one per key channel here; decay and output gate come through low-rank maps
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="exp_softplus", initial=(0.464, 0.9937)),
    erase=Erase(direction="key", per_channel=True),
    features=Features(map="silu", norm="l2"),
    heads=Heads(num_heads=16, state_dim=128, head_dim=128),
    io=InputOutput(
        short_conv=ShortConv(width=4, on=("q", "k", "v")),
        value_activation="silu",
        output_norm="head_rms",
        value_gate="sigmoid",
        gate="sigmoid",
    ),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="gdn2",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
