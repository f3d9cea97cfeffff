"""H3: two state space layers that compare tokens by products.

Source     Fu et al., 2022, arXiv 2212.14052
Tuple      phi = id with q = c (q_i), k = b (k_j), c and b static, k_j after a convolution of 64 taps; A_t = (1 +
           dt lambda/2) / (1 - dt lambda/2) on 32 complex pairs; b_j = 1; eta_i = 1; bonus on the diagonal
State      n = 64 real numbers per channel, and 63 inputs of the convolution
Reference  zoology.mixers.h3.H3
Known for  closed most of the gap between state space models and attention in language modelling: the shift remembers
           the last tokens, the product with q recalls
Sizes      the 125M model (12 layers, width 768) without its two attention layers; S4D-Lin: Re lambda = -1/2, Im
           lambda = pi m, dt log-uniform in [0.001, 0.1], bilinear rule (the default of HazyResearch/H3); `initial`
           holds the ends
Left out   b is tied to lambda and dt there, free here with the same initial size; heads wider than one channel
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation
from designspace.scaling import Scaling
from designspace.support import Support
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", source="learned", map="exp_exp", initial=(0.9512, 0.9995)),
    rotation=Rotation(source="learned", initial=(0.0, 2.737)),
    scaling=Scaling(base=1.0),
    features=Features(map="scaled_static", q_std=1.41, k_std=0.0152),
    support=Support(diagonal="bonus"),
    heads=Heads(layout="channel", num_heads=768, state_dim=64, head_dim=1),
    io=InputOutput(short_conv=ShortConv(width=64, on=("k",))),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="h3",
        target=Target(seq_len=2048),
        model=ModelSpec(model_dim=768, vocab_size=50257),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
