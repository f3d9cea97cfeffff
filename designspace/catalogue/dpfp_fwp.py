"""Fast weight programmer: DPFP features and the delta rule.

Source     Schlag, Irie, Schmidhuber, 2021, arXiv 2102.11174
Tuple      phi = id with q, k = dpfp(x), sum 1; A_t = I - beta_t k_t k_t^T; b_j = beta_j; eta_i = 1
State      2 nu n p per head
Reference  fla.modules.feature_map.DPFPFeatureMap with fla.ops.delta_rule.naive
Known for  the delta rule for linear transformers, and the proof that 2 nu n keys fit; |k| <= 1 keeps A_t a
           contraction
Sizes      the small language model of the paper (16 layers, width 128, 8 heads of 16), nu = 3
Also       fast_weight_programmer, fast_weight_programmers, dpfp
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    erase=Erase(direction="key"),
    scaling=Scaling(base=1.0, gate="tied_to_erase"),
    features=Features(map="dpfp", width=3, norm="sum"),
    heads=Heads(num_heads=8, state_dim=16, head_dim=16),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="dpfp_fwp",
        target=Target(seq_len=256),
        model=ModelSpec(model_dim=128, vocab_size=267735),
        blocks=(
            Block(repeat=16, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=16.0)),
        ),
    ),
)
