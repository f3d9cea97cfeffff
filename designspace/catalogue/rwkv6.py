"""RWKV-6 Finch: data-dependent diagonal decay, read before the decay, bonus for the current token.

Source     Peng et al., 2024, arXiv 2404.05892
Tuple      phi = id; A_t = diag(exp(-exp(w_t))), read before, diagonal u; b_j = 1; eta_i = 1, then layer norm per head
State      n p per head
Reference  fla.ops.rwkv6.recurrent_naive.naive_recurrent_rwkv6
Known for  matrix states with data-dependent decay in the RWKV line
Sizes      Finch 1.6B (24 layers, width 2048); w starts at -6 + 5 (h / (C - 1))^(0.7 + 1.3 l / (L - 1));
           `initial` holds the 5 and 95 % quantiles over channels and layers
Left out   the low-rank data-dependent token shift (a convolution of width 2 stands for it)
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.support import Support

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="exp_exp", initial=(0.762, 0.9973)),
    scaling=Scaling(base=1.0),
    support=Support(read="before", diagonal="bonus"),
    heads=Heads(num_heads=32, state_dim=64, head_dim=64),
    io=InputOutput(
        short_conv=ShortConv(width=2, on=("q", "k", "v")), output_norm="head_ln", norm_eps=64e-5, gate="silu"
    ),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="rwkv6",
        model=ModelSpec(model_dim=2048, vocab_size=65536),
        blocks=(
            Block(repeat=24, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=3.5)),
        ),
    ),
)
