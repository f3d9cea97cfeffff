"""Linear attention with elu + 1 features and a row sum.

Source     Katharopoulos et al., 2020, arXiv 2006.16236
Tuple      phi = id with q, k = elu(x) + 1; A_t = I; b_j = 1; eta_i = row sum + 1e-6
State      n p + n per head
Reference  fla.ops.linear_attn.naive.naive_recurrent_linear_attn(normalize=True)
Known for  showed that transformers with a linear readout are recurrent networks; positive features cannot suppress a
           key
Sizes      the image generation model of the paper (8 layers, 8 heads of 32)
Also       linear_attention_elu1
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    scaling=Scaling(base=1.0),
    normalization=Normalization(kind="sum", eps=1e-6),
    features=Features(map="elu+1"),
    heads=Heads(num_heads=8, state_dim=32, head_dim=32),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="linear_elu_norm",
        target=Target(seq_len=784),
        model=ModelSpec(model_dim=256, vocab_size=256),
        blocks=(
            Block(repeat=8, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
