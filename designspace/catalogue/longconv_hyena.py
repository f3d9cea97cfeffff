"""Hyena: gated long convolution.

Source     Poli et al., 2023, arXiv 2302.10866
Tuple      phi = id, n = 1; A_t = shift over 2048 lags, q_i taps[i - j] k_j; b_j = 1; eta_i = 1
State      2048 per channel: the whole window
Reference  zoology.mixers.hyena.Hyena
Known for  sub-quadratic without attention by FFT; fixed filters copy and recall worse than selective mixers
Sizes      Hyena 153M (18 layers, width 864), order 2
Left out   the filter is a small network of the lag times an exponential window there, a table of taps here
Also       hyena
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.lift import Lift
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

mixer = MixerSpec(
    lift=Lift(kind="shift", width=2048),
    scaling=Scaling(base=1.0),
    heads=Heads(layout="channel", num_heads=864, state_dim=1, head_dim=1),
    io=InputOutput(short_conv=ShortConv(width=3, on=("q", "k", "v"))),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="longconv_hyena",
        model=ModelSpec(model_dim=864, vocab_size=50257),
        blocks=(
            Block(repeat=18, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
