"""Comba: closed-loop delta rule with a second, scaled key.

Source     Hu et al., 2025, arXiv 2506.02475
Tuple      phi = id with unit q, k = silu(conv x); A_t = a_t (I - beta_t k_t p_t^T), p = sigmoid(c_h) k; b_j = beta_j
           n^-1/2; eta_i = 1, then RMS per head
State      n p per head, and 3 inputs of each short convolution
Reference  fla.ops.comba.naive (takes a free p)
Known for  erases less than it writes; the published kernel normalises p, so there c_h never reaches A
Sizes      the defaults of fla CombaConfig (21 layers, width 2048, 6 heads of 256 with values of 512); a starts like
           Gated DeltaNet
Left out   the output correction q - D p before the norm of q
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="exp_softplus", initial=(0.474, 0.9963)),
    erase=Erase(direction="key_scaled"),
    scaling=Scaling(gate="tied_to_erase"),
    features=Features(map="silu", norm="l2"),
    heads=Heads(num_heads=6, state_dim=256, head_dim=512),
    io=InputOutput(
        short_conv=ShortConv(width=4, on=("q", "k", "v")),
        value_activation="silu",
        output_norm="head_rms",
        gate="sigmoid",
    ),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="comba",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=21, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
