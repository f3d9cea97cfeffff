"""HGRN: channel-wise gated recurrence with a lower bound on the forget gate.

Source     Qin, Yang, Zhong, 2023, arXiv 2311.04823
Tuple      phi = id with q = k = 1, n = 1; A_t = lo_l + (1 - lo_l) sigmoid(x_t); b_j = 1 - a_j; eta_i = 1, then RMS
           over all channels
State      1 per channel
Reference  fla.ops.hgrn.naive.naive_recurrent_hgrn
Known for  upper layers remember longer because the floor lo_l rises with depth; no state expansion, so weak recall
Sizes      fla defaults at 340M (24 layers, width 1024)
Left out   the floor lo_l of each layer is learned there and starts at l/L, here it is 0 in all, with the first
           quantiles of all layers together
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

CHANNELS = 1024
mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="sigmoid_floor", initial=(0.43, 0.97)),
    scaling=Scaling(base=1.0, gate="complement"),
    features=Features(map="ones"),
    heads=Heads(layout="channel", num_heads=CHANNELS, state_dim=1, head_dim=1),
    io=InputOutput(value_activation="silu", output_norm="full_rms", gate="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="hgrn",
        model=ModelSpec(model_dim=1024, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
