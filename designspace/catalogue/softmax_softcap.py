"""Softmax attention whose scores pass through 50 tanh(z / 50).

Source     Gemma Team, 2024, arXiv 2408.00118
Tuple      phi = exp(50 tanh(z / 50)); A_t = R(-theta^(-2m/n)); b_j = n^-1/2; eta_i = row sum
State      T (n + p) per key/value head
Reference  transformers gemma2 eager_attention_forward
Known for  a bounded readout: exp cannot overflow and no key can take more than e^100 of another, whatever the weights
Sizes      Gemma 2 2B (26 layers, width 2304)
Left out   every second layer sees a window of 4096 keys, each sub-layer has a second norm after it, and the channel
           mixer gates with GELU
Also       softcap
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation
from designspace.target import Target

mixer = MixerSpec(
    readout=Exponential(kind="exponential", softcap=50.0),
    rotation=Rotation(source="constant"),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=8, state_dim=256, head_dim=256, kv_groups=4),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_softcap",
        target=Target(seq_len=8192),
        model=ModelSpec(model_dim=2304, vocab_size=256000),
        blocks=(Block(repeat=26, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=4.0)),),
    ),
)
