"""Attention with squared ReLU, divided by the length.

Source     Hua et al., 2022, arXiv 2202.10447
Tuple      phi = max(z, 0)^2; A_t = I; b_j = n^-1/2; eta_i = number of visible keys
State      T (n + p) per head
Reference  x_transformers Attend(custom_attn_fn), which has eta = 1
Known for  the single-head quadratic part of FLASH: sharper than ReLU, no exponential
Sizes      two causal layers of our own choice
Left out   FLASH has one head, divides the score by the length inside the square and adds a relative bias
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Relu

mixer = MixerSpec(readout=Relu(kind="relu", power=2), normalization=Normalization(kind="length"))
entry = Entry.described(
    __doc__,
    Candidate(
        name="relu2_attn",
        model=ModelSpec(model_dim=256),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
