"""LRU: linear recurrent unit, a complex diagonal state shared by the whole layer.

Source     Orvieto et al., 2023, arXiv 2303.06349
Tuple      phi = id with static q, k, n = 2; A_t = r R(theta), r = exp(-exp(nu)); b_j = sqrt(1 - r^2); eta_i = 1; D
           skip
State      2 real numbers per complex state
Reference  own recurrence (the published code is JAX)
Known for  a plain linear recurrence matches S4 on long-range arena once initialised on a ring and normalised; S5
           (arXiv 2208.04933) has the same structure
Sizes      6 layers, width 512, 384 complex states; |lambda|^2 uniform in [0.9^2, 0.999^2], theta uniform in
           [0, 2 pi]; `initial` holds the ends. S5 starts elsewhere: at exp(dt lambda) of HiPPO-LegS, radii 0.951 to
           0.9995
Left out   the factor sqrt(1 - r^2) is where a learned gamma starts there, it follows r here; the input of a complex
           state is complex (two projections) there, real here; GLU after the layer
Also       lru, s5
"""

from designspace.candidate import Block, Candidate, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation
from designspace.scaling import Scaling
from designspace.support import Support
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="scalar", source="learned", map="exp_exp", initial=(0.9, 0.999)),
    rotation=Rotation(source="learned", initial=(0.0, 6.283)),
    scaling=Scaling(base=1.0, gate="sqrt_1_minus_a2"),
    features=Features(map="static"),
    support=Support(diagonal="D"),
    heads=Heads(layout="channel", num_heads=384, state_dim=2, head_dim=1),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="lru_s5",
        target=Target(seq_len=1024),
        model=ModelSpec(model_dim=512),
        blocks=(Block(repeat=6, mixer=mixer, norm=Norm(kind="layer")),),
    ),
)
