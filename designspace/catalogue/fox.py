"""Forgetting Transformer: softmax attention with a data-dependent additive forget gate.

Source     Lin et al., 2025, arXiv 2503.02130
Tuple      phi = exp; A_t = shear by log f_t (unipotent), f_t = sigmoid(x); b_j = n^-1/2; eta_i = row sum
State      T (n + p + 1) per head
Reference  fla.ops.forgetting_attn.naive.naive_forgetting_attn
Known for  a forget gate in softmax attention: needs no position code, extrapolates, keeps near-perfect recall of
           needles
Sizes      a 125M model of the paper's LLaMA-like stack (12 layers, width 768); gate bias starts at 0
Also       forgetting_transformer
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.shear import Shear

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    shear=Shear(source="input"),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="fox",
        model=ModelSpec(model_dim=768, vocab_size=50277),
        blocks=(Block(repeat=12, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.667)),),
    ),
)
