"""Softmax attention with rotary positions.

Source     Su et al., 2021, arXiv 2104.09864
Tuple      phi = exp; A_t = R(-theta^(-2m/n)) on every pair m; b_j = n^-1/2; eta_i = row sum
State      T (n + p) per head
Reference  transformers llama apply_rotary_pos_emb with scaled_dot_product_attention
Known for  the default of open language models: the score depends on i - j only and |q|, |k| are untouched.
           Extrapolates badly beyond the training length; the scale of q and k is not bounded during training.
Sizes      LLaMA 7B (arXiv 2302.13971): 32 layers, width 4096, 6.74 G parameters
Also       rope
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant"),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=32, state_dim=128, head_dim=128),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_rope",
        model=ModelSpec(model_dim=4096, vocab_size=32000),
        blocks=(Block(repeat=32, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.6875)),),
    ),
)
