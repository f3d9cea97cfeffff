"""Attention with ReLU in place of the softmax, divided by the length.

Source     Wortsman et al., 2023, arXiv 2309.08586
Tuple      phi = max(z, 0); A_t = I; b_j = n^-1/2; eta_i = number of visible keys
State      T (n + p) per head
Reference  x_transformers Attend(custom_attn_fn)
Known for  matches softmax in vision transformers once divided by the sequence length; exact zeros on a half-line
Sizes      two causal layers of our own choice; the paper is bidirectional
Also       relu_attention
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Relu

mixer = MixerSpec(readout=Relu(kind="relu"), normalization=Normalization(kind="length"))
entry = Entry.described(
    __doc__,
    Candidate(
        name="relu_attn",
        model=ModelSpec(model_dim=256),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
