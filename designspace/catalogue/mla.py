"""Multi-head latent attention: keys and values of all heads from one cached vector.

Source     DeepSeek-AI, 2024, arXiv 2405.04434
Tuple      phi = exp; A_t = R on 64 of 192 key channels; b_j = n^-1/2, n = 192; eta_i = row sum
State      T (512 + 64) per layer: the latent vector and the rotated key channels that all heads share
Reference  transformers DeepseekV3Attention
Known for  a cache of 576 numbers per token where 16 heads of their own would keep 5120, at the same quality; the tuple
           is that of softmax with partial rotary positions, the low rank is in the parameters
Sizes      DeepSeek-V2-Lite before its context was stretched: 27 layers, width 2048, 16 heads
Left out   the low-rank queries of the larger models
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
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant", fraction=64 / 192, pairing="interleaved"),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=16, state_dim=192, head_dim=128, latent_dim=512, shared_key_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="mla",
        target=Target(seq_len=4096),
        model=ModelSpec(model_dim=2048, vocab_size=102400),
        blocks=(Block(repeat=27, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=10944 / 2048)),),
    ),
)
