"""Momentum DeltaNet: the delta rule with a heavy-ball momentum.

Source     Huang et al., 2026, arXiv 2605.05838
Tuple      phi = id with unit q, k = silu(conv x); A_t = [[a I - beta eta k k^T, -beta mu I], [eta k k^T, mu I]] on
           [S; M]; b_j = beta_j eta_j n^-1/2; eta_i = 1, then RMS per head
State      2 n p per head, and 3 inputs of each short convolution
Reference  fla recurrent_momentum_delta_rule_ref
Known for  a second-order step: complex pairs of eigenvalues from real keys; a step may expand (sigma_max 1.86
           measured), so no product is certified
Sizes      the layer defaults of fla (width 1024, 4 heads of 256 with values of 512), 24 layers; a starts like Gated
           DeltaNet
Left out   the layer of fla erases with p = a_t k (the error is that of the decayed state), k here; eta = 1 + tanh in
           (0, 2) there, a sigmoid here; mu = exp(-M softplus(x)) with log mu >= -2 there, a sigmoid here; the coupling
           of the bounds of a and beta through eta; the output correction q - D k
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.lift import Lift
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="exp_softplus", initial=(0.474, 0.9963)),
    erase=Erase(direction="key"),
    lift=Lift(kind="momentum"),
    scaling=Scaling(gate="tied_to_erase"),
    features=Features(map="silu", norm="l2"),
    heads=Heads(num_heads=4, state_dim=256, head_dim=512),
    io=InputOutput(
        short_conv=ShortConv(width=4, on=("q", "k", "v")), value_activation="silu", output_norm="head_rms", gate="silu"
    ),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="momentum_deltanet",
        model=ModelSpec(model_dim=1024, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
