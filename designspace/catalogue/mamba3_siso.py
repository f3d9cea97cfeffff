"""Mamba-3 (SISO): trapezoidal rule and data-dependent rotation.

Source     Lahoti et al., 2026, arXiv 2603.15569
Tuple      phi = id with rms q, k; A_t = exp(-A_t dt_t) R(dt_t pi tanh x_t) on two taps; b_j = l_j dt_j, previous key
           (1 - l) dt; eta_i = 1; D skip
State      n p + n + p per head, and the running angles
Reference  state-spaces/mamba tests mamba3_siso_step_ref
Known for  complex eigenvalues that depend on the input track parity; no short convolution because the two taps
           replace it
Sizes      Mamba-2 130M's stack (24 layers, width 768) with the defaults of the published module
Left out   biases of q and k after the norm; the rate A_t is a second function of the token there, softplus(x) but at
           least 1e-4, a parameter here; all heads turn by one set of angles there (times their own dt), each by its own
           here; the published stack has channel mixers
Also       mamba3
"""

import math

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.lift import Lift
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation
from designspace.scaling import Scaling
from designspace.support import Support

DT = (0.001, 0.1)
RATE = math.log(2.0)  # A_t = softplus(x_t) of the token, x_t near 0
mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="exp_softplus", initial=(math.exp(-RATE * DT[1]), math.exp(-RATE * DT[0]))),
    rotation=Rotation(source="input", fraction=0.5, pairing="interleaved"),
    lift=Lift(kind="delay1"),
    scaling=Scaling(base=1.0, gate="dt", initial=DT),
    features=Features(norm="rms_weighted", eps=1e-5, eps_kind="mean"),
    support=Support(diagonal="D"),
    heads=Heads(num_heads=24, state_dim=128, head_dim=64, kv_groups=1, shared="qk"),
    io=InputOutput(gate="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="mamba3_siso",
        model=ModelSpec(model_dim=768, vocab_size=50288),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="none")),),
    ),
)
