"""RWKV-4: channel-wise weighted average with exponential keys and a constant learned decay.

Source     Peng et al., 2023, arXiv 2305.13048
Tuple      phi = id with q = k = 1, n = 1; A_t = exp(-exp(w)), read before, diagonal e^u; b_j = exp(k_j); eta_i = row
           sum
State      2 per channel, 3 with the running maximum
Reference  transformers rwkv rwkv_linear_attention_cpu
Known for  an attention-free language model at 14 G parameters: the exponent is additive, so the exponential readout
           factorises
Sizes      RWKV-4 169M (12 layers, width 768); w starts at -5 + 8 (h / (H - 1))^(0.7 + 1.3 l / (L - 1)); `initial` holds
           the 5 and 95 % quantiles over channels and layers
Left out   the bonus is e^u > 0 there, a parameter of any sign here: below 0 the row sum can vanish; the token shift of
           the key logit and the receptance (that of v is the convolution), the squared-ReLU channel mixer
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.execution import Execution
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling
from designspace.support import Support

mixer = MixerSpec(
    decay=Decay(granularity="scalar", source="learned", map="exp_exp", initial=(4e-6, 0.9925)),
    scaling=Scaling(base=1.0, gate="exp_key"),
    normalization=Normalization(kind="sum"),
    features=Features(map="ones"),
    support=Support(read="before", diagonal="bonus"),
    heads=Heads(layout="channel", num_heads=768, state_dim=1, head_dim=1),
    io=InputOutput(short_conv=ShortConv(width=2, on=("v",)), gate="sigmoid"),
    execution=Execution(stabiliser="running_max"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="rwkv4",
        model=ModelSpec(model_dim=768, vocab_size=50277),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
