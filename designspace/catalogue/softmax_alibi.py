"""Softmax attention with a linear distance bias.

Source     Press, Smith, Lewis, 2021, arXiv 2108.12409
Tuple      phi = exp; A_t = shear by -2^(-8h/H) (unipotent); b_j = n^-1/2; eta_i = row sum
State      T (n + p) per head
Reference  transformers bloom build_alibi_tensor
Known for  extrapolates to longer inputs than it was trained on, by being local: head h sees about 2^(8h/H) keys
Sizes      BLOOM 560M (arXiv 2211.05100)
Left out   the layer norm that BLOOM puts after the embedding
Also       alibi
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.shear import Shear

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    shear=Shear(source="constant"),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=16, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_alibi",
        model=ModelSpec(model_dim=1024, vocab_size=250880),
        blocks=(
            Block(repeat=24, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
