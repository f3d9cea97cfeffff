"""RWKV-7 Goose: diagonal decay minus a rank-one term in a free direction.

Source     Peng et al., 2025, arXiv 2503.14456
Tuple      phi = id; A_t = diag(w_t) - (a_t * u_t) u_t^T, |u_t| = 1, w_t in (0.545, 1); b_j = 1; eta_i = 1, then layer
           norm per head
State      n p per head
Reference  fla.ops.generalized_delta_rule.dplr.naive.dplr_recurrence (which scales q by n^-1/2)
Known for  recognises all regular languages; a step may expand (sigma_max 1.09 measured), so no product of steps is
           certified
Sizes      RWKV-7 0.1B (12 layers, width 768); w's logit starts at -6.5 + 5 (h / (C - 1))^(0.85 + sqrt(l / (L - 1)))
           as in RWKV-LM; `initial` holds the 5 and 95 % quantiles over channels and layers. fla 0.6.0 starts at -5.5 +
           6 (h / (C - 1))^(1 + (l / (L - 1))^0.3) and a term of the channel in its head
Left out   u is k times a learned k_k, made unit, there, a projection of its own here; k scaled by 1 + (a - 1) k_a,
           value residual, low-rank maps, a linear output gate; the bonus is added before the norm here, after it there
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.support import Support

mixer = MixerSpec(
    decay=Decay(
        granularity="diagonal", map="exp_lb_sigmoid", range=(math.exp(-math.exp(-0.5)), 1.0), initial=(0.921, 0.99904)
    ),
    erase=Erase(direction="free", per_channel=True, compose="additive"),
    scaling=Scaling(base=1.0),
    support=Support(diagonal="bonus"),
    heads=Heads(num_heads=12, state_dim=64, head_dim=64),
    io=InputOutput(short_conv=ShortConv(width=2, on=("q", "k", "v")), output_norm="head_ln", norm_eps=64e-5),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="rwkv7",
        model=ModelSpec(model_dim=768, vocab_size=65536),
        blocks=(
            Block(repeat=12, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=4.0)),
        ),
    ),
)
