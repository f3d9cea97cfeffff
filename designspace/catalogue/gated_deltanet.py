"""Gated DeltaNet: scalar decay times the delta rule.

Source     Yang, Kautz, Hatamizadeh, 2024, arXiv 2412.06464
Tuple      phi = id with unit q, k = silu(conv x); A_t = a_t (I - beta_t k_t k_t^T), a = exp(-A softplus(x)); b_j =
           beta_j n^-1/2; eta_i = 1, then RMS per head
State      n p per head, and 3 inputs of each short convolution
Reference  fla.ops.gated_delta_rule.naive; transformers torch_chunk_gated_delta_rule
Known for  erases one key or everything: the linear layer of Qwen3-Next; positive spectrum, so no parity
Sizes      the 1.3B model of fla (21 layers, width 2048, keys of 256, values of 512); A uniform in [0, 16], dt
           log-uniform in [0.001, 0.1]; `initial` holds the 5 and 95 % quantiles of exp(-A dt)
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
    erase=Erase(direction="key"),
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
        name="gated_deltanet",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(Block(repeat=21, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.75)),),
    ),
)
