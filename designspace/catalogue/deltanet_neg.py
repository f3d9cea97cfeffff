"""DeltaNet with eigenvalues down to -1.

Source     Grazzi et al., 2024, arXiv 2411.12537
Tuple      phi = id with unit q, k = silu(conv x); A_t = I - beta_t k_t k_t^T, beta in (0, 2); b_j = beta_j n^-1/2;
           eta_i = 1, then RMS per head
State      n p per head, and 3 inputs of each short convolution
Reference  fla.ops.delta_rule.naive.delta_rule_recurrence with beta = 2 sigmoid
Known for  beta = 2 reflects: parity and, with several layers, counting modulo m become possible at finite precision
Sizes      the 1.3B model of fla (24 layers, width 2048)
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.erase import Erase
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

mixer = MixerSpec(
    erase=Erase(direction="key", gain=(0.0, 2.0)),
    scaling=Scaling(gate="tied_to_erase"),
    features=Features(map="silu", norm="l2"),
    heads=Heads(num_heads=16, state_dim=128, head_dim=128),
    io=InputOutput(short_conv=ShortConv(width=4, on=("q", "k", "v")), value_activation="silu", output_norm="head_rms"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="deltanet_neg",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=24, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
