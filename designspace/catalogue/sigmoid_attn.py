"""Attention with an elementwise sigmoid in place of the softmax.

Source     Ramapuram et al., 2024, arXiv 2409.04431
Tuple      phi = sigmoid(z - log T); A_t = R(-theta^(-2m/n)); b_j = n^-1/2; eta_i = 1
State      T (n + p) per head
Reference  x_transformers Attend(causal, sigmoid=True), which has no offset
Known for  no row normalization, so no reduction over the row; the offset -log T keeps the initial row sum near 1
Sizes      two layers of our own choice
Left out   LayerScale after the mixer
Also       sigmoid_attention
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Sigmoid
from designspace.rotation import Rotation

mixer = MixerSpec(
    readout=Sigmoid(kind="sigmoid", offset="-log_length"),
    rotation=Rotation(source="constant"),
    normalization=Normalization(length_kind="target"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="sigmoid_attn",
        model=ModelSpec(model_dim=256),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
