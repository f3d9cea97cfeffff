"""Longhorn: online regression with a per-channel implicit step.

Source     Liu et al., 2024, arXiv 2407.14207
Tuple      phi = id; A_t = 1 - dt_t k_t^2 per channel, dt = g / (1 + g |k|^2), g = sigmoid(x); b_j = dt_j; eta_i = 1;
           D skip
State      n = 16 per channel, and 3 inputs of the short convolution
Reference  Longhorn.step of the published code
Known for  the decay follows from the write: no forget gate to learn, stable by construction
Sizes      Mamba 130M's stack (24 layers, width 768)
Left out   q, k and the gate come from the convolved channels; no first range of the decay is declared, it follows
           from |k|
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.support import Support

mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="one_minus_bk2"),
    scaling=Scaling(base=1.0, gate="sigmoid"),
    support=Support(diagonal="D"),
    heads=Heads(layout="channel", num_heads=1536, state_dim=16, head_dim=1, kv_groups=1, shared="qk"),
    io=InputOutput(short_conv=ShortConv(width=4, on=("v",)), value_activation="silu", gate="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="longhorn",
        model=ModelSpec(model_dim=768, vocab_size=50280),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="none")),),
    ),
)
