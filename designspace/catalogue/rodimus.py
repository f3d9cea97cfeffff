"""Rodimus: forget and write through one temperature-controlled step per channel.

Source     He et al., 2024, arXiv 2410.06577
Tuple      phi = id with k of unit length; A_t = diag(exp(-tau softplus(g))); b_j = softplus(g)^tau per channel,
           n^-1/2; eta_i = 1
State      n p, one head whose value is as wide as the layer
Reference  fla.layers.rodimus with fla.ops.gla.naive.naive_recurrent_gla
Known for  one wide head with a small key does as well as many; the temperature tau decides between keeping and
           replacing
Sizes      the defaults of the layer (width 2048, keys of 64, values of 4096) in a stack of 24; its biases make
           softplus(g) log-uniform in [0.001, 0.1] and tau uniform in [1/16, 0.9], and `initial` holds the 5 and 95 %
           quantiles
Left out   the skip from the convolved input (its weight is on the input, not on the value)
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="exp_softplus_tau", initial=(0.958, 0.99963)),
    scaling=Scaling(gate="step_power"),
    features=Features(norm="l2", norm_on="k", eps=1e-12),
    heads=Heads(num_heads=1, state_dim=64, head_dim=4096),
    io=InputOutput(
        short_conv=ShortConv(width=4, on=("q", "k")),
        value_gate="sigmoid",
        output_norm="full_rms",
        gate="silu",
        order="gate_then_norm",
    ),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="rodimus",
        target=Target(seq_len=2048),
        model=ModelSpec(model_dim=2048, vocab_size=126464),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="none")),),
    ),
)
