"""Softmax attention with a sigmoid output gate, q/k norm and partial rotary positions.

Source     Qiu et al., 2025, arXiv 2505.06708
Tuple      phi = exp; A_t = blockdiag(R, I) on a quarter; b_j = n^-1/2 with rms q, k; eta_i = row sum; output times
           sigmoid(g)
State      T (n + p) per key/value head
Reference  transformers Qwen3NextAttention
Known for  the gate makes the low-rank map from value to output nonlinear and removes attention sinks
Sizes      the 12 attention layers of Qwen3-Next 80B-A3B without its 36 Gated DeltaNet layers; one dense channel mixer
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation
from designspace.target import Target

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant", theta=1e7, fraction=0.25),
    normalization=Normalization(kind="sum"),
    features=Features(norm="rms_weighted", eps_kind="mean"),
    heads=Heads(num_heads=16, state_dim=256, head_dim=256, kv_groups=2),
    io=InputOutput(gate="sigmoid"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="gated_softmax",
        target=Target(seq_len=262144),
        model=ModelSpec(model_dim=2048, vocab_size=151936),
        blocks=(Block(repeat=12, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.5)),),
    ),
)
