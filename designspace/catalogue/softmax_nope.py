"""Softmax attention without any position code.

Source     Kazemnejad et al., 2023, arXiv 2305.19466
Tuple      phi = exp; A_t = I; b_j = n^-1/2; eta_i = row sum
State      T (n + p) per head: the cache grows with the length
Reference  fla.ops.attn.naive.naive_parallel_attn
Known for  decoders without a position code: the causal mask alone lets two or more layers count positions (Haviv et
           al., arXiv 2203.16634); best length generalisation of the codes compared in the paper. One layer is blind
           to the order of the past.
Sizes      the base decoder of the paper (12 layers, width 768)
Also       softmax, softmax_attention
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    normalization=Normalization(kind="sum"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_nope",
        model=ModelSpec(model_dim=768, vocab_size=50257),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
