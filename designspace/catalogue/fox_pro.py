"""FoX Pro: forgetting attention with key/value shift, q/k norm, output norm and gate.

Source     Lin et al., 2025, arXiv 2503.02130
Tuple      phi = exp; A_t = shear by log f_t (unipotent); b_j = n^-1/2 with rms q, k; eta_i = row sum, then RMS per
           head
State      T (n + p + 1) per head, and one input of the shift
Reference  fla.ops.forgetting_attn.naive.naive_forgetting_attn
Known for  the components of recurrent layers added to FoX: better than FoX on short and long contexts
Sizes      a 125M model (12 layers, width 768)
Left out   the shift of keys and values has weights that depend on the token, here fixed
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.shear import Shear

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    shear=Shear(source="input"),
    normalization=Normalization(kind="sum"),
    features=Features(norm="rms_weighted", gain_shared=False, eps=1e-5, eps_kind="mean"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
    io=InputOutput(short_conv=ShortConv(width=2, on=("k", "v")), output_norm="head_rms", gate="sigmoid"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="fox_pro",
        model=ModelSpec(model_dim=768, vocab_size=50277),
        blocks=(Block(repeat=12, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.667)),),
    ),
)
