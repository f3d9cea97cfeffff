"""Gated DeltaProduct: several delta steps per token.

Source     Siems et al., 2025, arXiv 2502.10297
Tuple      phi = id with unit q, k = silu(conv x); A_t = a_t prod_m (I - beta_tm k_tm k_tm^T), m = 1, 2, beta in (0,
           2); b_j = beta_j n^-1/2; eta_i = 1, then RMS per head
State      n p per head, and 3 inputs of each short convolution
Reference  fla.ops.gated_delta_product.naive
Known for  products of reflections are rotations: permutation groups that one reflection per token cannot track
Sizes      the defaults of fla GatedDeltaProductConfig (21 layers, width 2048), two micro-steps; a starts like
           Gated DeltaNet
Also       deltaproduct
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="exp_softplus", initial=(0.474, 0.9963)),
    erase=Erase(direction="key", rank=2, gain=(0.0, 2.0)),
    scaling=Scaling(gate="tied_to_erase"),
    features=Features(map="silu", norm="l2"),
    heads=Heads(num_heads=6, state_dim=256, head_dim=512),
    io=InputOutput(
        short_conv=ShortConv(width=4, on=("q", "k", "v")), value_activation="silu", output_norm="head_rms", gate="silu"
    ),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="gated_deltaproduct",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=21, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
