"""Kimi Delta Attention: diagonal decay times the delta rule.

Source     Kimi Team, 2025, arXiv 2510.26692
Tuple      phi = id with unit q, k = silu(conv x); A_t = (I - beta_t k_t k_t^T) diag(a_t), a = exp(-A softplus(x));
           b_j = beta_j n^-1/2; eta_i = 1, then RMS per head
State      n p per head, and 3 inputs of each short convolution
Reference  fla.ops.kda.naive; transformers recurrent_kimi_delta_attention
Known for  per-channel forgetting in the delta rule; three such layers for one of full attention in Kimi Linear
           48B-A3B
Sizes      the 20 KDA layers of Kimi Linear (width 2304, 32 heads of 128) without its 7 MLA layers; A uniform in [1,
           16], dt log-uniform in [0.001, 0.1], `initial` the 5 and 95 % quantiles; the channel mixer is ours
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
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="exp_softplus", initial=(0.464, 0.9937)),
    erase=Erase(direction="key"),
    scaling=Scaling(gate="tied_to_erase"),
    features=Features(map="silu", norm="l2"),
    heads=Heads(num_heads=32, state_dim=128, head_dim=128),
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
        name="kda",
        target=Target(seq_len=4096),
        model=ModelSpec(model_dim=2304, vocab_size=163840),
        blocks=(Block(repeat=20, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=4.0)),),
    ),
)
