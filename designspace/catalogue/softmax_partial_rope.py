"""Softmax attention that rotates a quarter of the key channels.

Source     Black et al., 2022, arXiv 2204.06745
Tuple      phi = exp; A_t = blockdiag(R(-theta^(-2m/(n/4))), I); b_j = n^-1/2; eta_i = row sum
State      T (n + p) per head
Reference  transformers gpt_neox apply_rotary_pos_emb
Known for  GPT-NeoX, Pythia, Phi and GLM: position in some channels, pure content in the others, at no loss of quality
Sizes      Pythia 160M (arXiv 2304.01373)
Left out   Pythia runs attention and channel mixer in parallel; here one follows the other
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant", fraction=0.25),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_partial_rope",
        model=ModelSpec(model_dim=768, vocab_size=50304),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
